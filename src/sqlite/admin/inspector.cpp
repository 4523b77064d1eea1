#include "sqlite/admin/inspector.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "simba/core/error.hpp"
#include "sqlite/admin/examination.hpp"

namespace simba::sqlite {

FileInspector::FileInspector(Place place, sql::Schema schema, std::chrono::milliseconds timeout)
    : place_{std::move(place)}, schema_{schema}, timeout_{timeout} {}

Connection FileInspector::open() const {
  place_.check();
  return Connection{path_, sql::real_now() + timeout_, never_raised_};
}

void FileInspector::check_exists() {
  if (!is_missing()) return;
  throw Error{
      ErrorKind::configuration,
      fmt::format("SQLite store: file {} does not exist; check the path, or create the file "
                  "with \"simba init\"",
                  path_.string())};
}

/// Opening it would say the same, but also make the file.
bool FileInspector::is_missing() const {
  std::error_code unknown;
  if (std::filesystem::exists(path_, unknown) || unknown) return false;
  const auto folder = path_.parent_path();
  if (std::filesystem::exists(folder, unknown)) return true;
  throw Error{
      ErrorKind::configuration,
      fmt::format("SQLite store: directory {} does not exist; check the path, or create the "
                  "directory",
                  folder.string())};
}

bool FileInspector::has_table() {
  if (is_missing()) return false;
  Connection connection = open();
  return is_complete(connection);
}

void FileInspector::read_names(const std::function<void(std::string name)>& add) {
  Connection connection = open();
  Statement statement{connection, "SELECT mutex FROM simba_mutex"};
  while (statement.step()) add(statement.text(0));
}

engine::StoreReport FileInspector::examine() {
  return Examination{place_, schema_, [this] { return open(); }}.run();
}

}  // namespace simba::sqlite
