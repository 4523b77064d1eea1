// What is on the disk when it is answered: by the statements that reach SQLite.
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "sqlite_fixture.hpp"

namespace simba::sqlite {
namespace {

/// How SQLite was told to write when a statement began with `words`, the last time; empty: it did
/// not.
std::string synchronous_at(const std::vector<std::string>& statements, std::string_view words) {
  std::string present;
  std::string found;
  constexpr std::string_view pragma = "PRAGMA synchronous = ";
  for (const std::string& statement : statements) {
    const auto first = statement.find_first_not_of('\n');
    const std::string_view text = std::string_view{statement}.substr(first);
    if (text.starts_with(pragma)) present = text.substr(pragma.size());
    if (text.starts_with(words)) found = present;
  }
  return found;
}

TEST_F(SqliteTest, AnAcquisitionIsSyncedToTheDiskAndNothingElseWaitsForIt) {
  const auto database = make_database();
  static std::vector<std::string> statements;
  statements.clear();
  const auto record = [](sqlite3* handle, const char**, const sqlite3_api_routines*) {
    return sqlite3_trace_v2(
        handle, SQLITE_TRACE_STMT,
        [](unsigned, void*, void* statement, void*) {
          statements.emplace_back(sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
          return 0;
        },
        nullptr);
  };
  const auto extension = reinterpret_cast<void (*)()>(
      static_cast<int (*)(sqlite3*, const char**, const sqlite3_api_routines*)>(record));
  sqlite3_auto_extension(extension);
  const auto session = connect(*database);
  sqlite3_cancel_auto_extension(extension);

  for (int round = 0; round < 2; ++round) {
    statements.clear();
    change(*session, sql::Change::acquire, ask("m", "me"));
    change(*session, sql::Change::guard, ask("m", "me"));
    change(*session, sql::Change::release, ask("m", "me"));
    // The first round begins as the session was set up.
    if (round > 0) {
      EXPECT_EQ(synchronous_at(statements, "INSERT INTO simba_mutex"), "FULL");
    }
    EXPECT_EQ(synchronous_at(statements, "UPDATE simba_mutex"), "NORMAL");
  }
}

}  // namespace
}  // namespace simba::sqlite
