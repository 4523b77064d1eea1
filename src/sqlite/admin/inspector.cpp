#include "sqlite/admin/inspector.hpp"

#include <sqlite3.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "core/tested_versions.hpp"
#include "simba/core/error.hpp"

namespace simba::sqlite {
namespace {

using engine::Finding;
using sql::note;
using sql::problem;
using sql::warning;

constexpr const char* complete =
    "SELECT 1 FROM sqlite_master m JOIN pragma_table_info('simba_mutex') c "
    "WHERE m.type = 'table' AND m.name = 'simba_clock' AND c.name = 'liveness'";
constexpr const char* table = "SELECT 1 FROM sqlite_master WHERE name = 'simba_mutex'";
constexpr const char* triggers =
    "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ('simba_mutex', "
    "'simba_clock')";
constexpr const char* columns = "SELECT name, type FROM pragma_table_info('simba_mutex')";

bool answers(Connection& connection, const char* query) {
  Statement statement{connection, query};
  const bool found = statement.step();
  statement.reset();
  return found;
}

}  // namespace

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
  return answers(connection, complete);
}

std::vector<std::string> FileInspector::names() {
  Connection connection = open();
  Statement statement{connection, "SELECT mutex FROM simba_mutex"};
  std::vector<std::string> names;
  while (statement.step()) names.push_back(statement.text(0));
  return names;
}

engine::StoreReport FileInspector::examine() {
  engine::StoreReport report;
  report.server = fmt::format("SQLite {}", ::sqlite3_libversion());
  if (auto remark = detail::untested_version("SQLite", ::sqlite3_libversion()); !remark.empty()) {
    report.findings.push_back(note(std::move(remark)));
  }
  try {
    check_place(report.findings);
    if (!sql::has_problem(report.findings)) check_tables(report.findings);
  } catch (const Error& error) {
    report.findings.push_back(problem(error));
  }
  return report;
}

void FileInspector::check_place(std::vector<Finding>& findings) const {
  std::error_code unknown;
  const auto folder = path_.parent_path();
  if (!std::filesystem::is_directory(folder, unknown)) {
    findings.push_back(problem(fmt::format(
        "directory {} does not exist; create it, or use another path", folder.string())));
    return;
  }
  if (std::filesystem::is_directory(path_, unknown)) {
    findings.push_back(problem(fmt::format("{} is a directory; use a file in it", path_.string())));
    return;
  }
  if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {  // NOLINT(hicpp-signed-bitwise)
    findings.push_back(problem(
        fmt::format("no permission to write to directory {}, in which SQLite creates files next "
                    "to the database; grant it to this user, or use another path",
                    folder.string()),
        ErrorKind::permission));
  }
  if (std::filesystem::exists(path_, unknown) &&
      ::access(path_.c_str(), R_OK | W_OK) != 0) {  // NOLINT(hicpp-signed-bitwise)
    findings.push_back(problem(
        fmt::format(
            "no permission to read and write file {}; grant it to this user, or use another path",
            path_.string()),
        ErrorKind::permission));
  }
  try {
    place_.check();
  } catch (const Error& error) {
    findings.push_back(problem(error));
    return;
  }
  struct stat file {};
  struct stat around {};
  if (::stat(path_.c_str(), &file) == 0 && ::stat(folder.c_str(), &around) == 0 &&
      (file.st_mode & S_IROTH) != 0 && (around.st_mode & S_IXOTH) != 0) {
    findings.push_back(warning(fmt::format(
        "any user can read {} and can therefore block it with locks; run: chmod o-rwx {}*",
        path_.string(), path_.string())));
  }
}

void FileInspector::check_tables(std::vector<Finding>& findings) const {
  const auto missing = [&](std::string_view what) {
    findings.push_back(
        schema_ == sql::Schema::create
            ? note(fmt::format("{} yet; it is created at first use, or by simba init", what))
            : problem(fmt::format("{}; run simba init", what)));
  };
  std::error_code unknown;
  if (!std::filesystem::exists(path_, unknown)) {
    missing(fmt::format("file {} does not exist", path_.string()));
    return;
  }
  Connection connection = open();
  if (!answers(connection, table)) {
    missing(fmt::format("{} has no table simba_mutex", path_.string()));
    return;
  }
  std::vector<sql::TableColumn> found;
  Statement statement{connection, columns};
  while (statement.step()) {
    found.push_back({.name = statement.text(0), .type = statement.text(1)});
  }
  for (auto& finding : sql::check_columns(found, 0)) findings.push_back(std::move(finding));
  if (answers(connection, triggers)) {
    findings.push_back(warning(
        fmt::format("someone has put triggers on the tables in {}, which Simba does not run; find "
                    "out who, and remove them with DROP TRIGGER",
                    path_.string())));
  }
  if (!sql::has_problem(findings) && !answers(connection, complete)) {
    missing(fmt::format("{} lacks table simba_clock or column liveness", path_.string()));
  }
}

}  // namespace simba::sqlite
