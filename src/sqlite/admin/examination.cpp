#include "sqlite/admin/examination.hpp"

#include <sqlite3.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "core/tested_versions.hpp"
#include "simba/core/error.hpp"
#include "sql/admin/sql_admin.hpp"

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

}  // namespace

bool is_complete(Connection& connection) { return has_row(connection, complete); }

Examination::Examination(const Place& place, sql::Schema schema, Open open)
    : place_{place}, schema_{schema}, open_{std::move(open)} {}

engine::StoreReport Examination::run() const {
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

void Examination::check_place(std::vector<Finding>& findings) const {
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

void Examination::check_tables(std::vector<Finding>& findings) const {
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
  Connection connection = open_();
  if (!has_row(connection, table)) {
    missing(fmt::format("{} has no table simba_mutex", path_.string()));
    return;
  }
  std::vector<sql::TableColumn> found;
  Statement statement{connection, columns};
  while (statement.step()) {
    found.push_back({.name = statement.text(0), .type = statement.text(1)});
  }
  for (auto& finding : sql::check_columns(found, 0)) findings.push_back(std::move(finding));
  if (has_row(connection, triggers)) {
    findings.push_back(warning(
        fmt::format("someone has put triggers on the tables in {}, which Simba does not run; find "
                    "out who, and remove them with DROP TRIGGER",
                    path_.string())));
  }
  if (!sql::has_problem(findings) && !is_complete(connection)) {
    missing(fmt::format("{} lacks table simba_clock or column liveness", path_.string()));
  }
}

}  // namespace simba::sqlite
