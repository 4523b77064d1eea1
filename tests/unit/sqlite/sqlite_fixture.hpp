#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/log.hpp"
#include "sqlite/database.hpp"
#include "support/temporary_folder.hpp"

namespace simba::sqlite {

/// A database file and a clock that a test sets.
struct SqliteTest : testing::Test {
  std::shared_ptr<SqliteDatabase> make_database(sql::Schema schema = sql::Schema::create,
                                                const std::string& boot = "boot") {
    return std::make_shared<SqliteDatabase>(
        path, ChildProcesses::ignore, schema, make_null_logger(),
        HostClock{.boot_id = boot, .since_boot = [this] { return since_boot; }});
  }

  static LocalTime soon() { return sql::real_now() + std::chrono::seconds{5}; }

  std::unique_ptr<sql::Session> connect(SqliteDatabase& database) const {
    return database.connect(soon(), closing);
  }

  static sql::Ask ask(const std::string& mutex, const std::string& contender) {
    return {.mutex = mutex,
            .contender_id = contender,
            .ttl = std::chrono::seconds{10},
            .transition = std::chrono::seconds{6}};
  }

  static sql::Row change(sql::Session& session, sql::Change change, const sql::Ask& ask) {
    const std::vector<sql::Ask> asks{ask};
    const auto rows = session.change(change, asks, soon());
    EXPECT_EQ(rows.size(), 1U);
    return rows.empty() ? sql::Row{} : rows.front();
  }

  static sql::Row look(sql::Session& session, const std::string& mutex) {
    const std::vector<std::string> mutexes{mutex};
    const auto rows = session.look(mutexes, soon());
    return rows.empty() ? sql::Row{} : rows.front();
  }

  std::chrono::milliseconds since_boot{1'000'000};
  const support::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "simba.db";
  const sql::Wakeup closing;
};

}  // namespace simba::sqlite
