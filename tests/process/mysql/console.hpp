#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mysql/connection.hpp"
#include "mysql/database.hpp"
#include "mysql/settings.hpp"
#include "simba/core/error.hpp"
#include "simba/core/log.hpp"
#include "sql/database.hpp"
#include "support/client_options.hpp"

/// What the tests on a real MySQL or MariaDB server share.
namespace simba::mysql::test {

using namespace std::chrono_literals;

inline MySqlOptions options_of(const support::Location& location) {
  return support::client_options<MySqlOptions>(location);
}

inline LocalTime soon() { return sql::real_now() + 10s; }

/// A connection for statements of the test itself, which may be inside a transaction.
class Console {
 public:
  explicit Console(const MySqlOptions& options) : settings_{options}, connection_{settings_} {
    connection_.begin_connect();
    check(connection_.finish(soon(), wakeup_), "connect");
  }

  void run(const std::string& statements) { result_of(statements); }

  /// The first value of the last statement's first row, as text; "null" where it is NULL.
  std::string value(const std::string& statements) {
    const Reply reply = result_of(statements);
    return reply.results.back().rows.at(0).at(0).value_or("null");
  }

  /// How many rows the last statement affected.
  std::uint64_t affected(const std::string& statements) {
    return result_of(statements).results.back().affected;
  }

 private:
  Reply result_of(const std::string& statements) {
    connection_.begin_query(statements);
    return check(connection_.finish(soon(), wakeup_), statements);
  }

  static Reply check(Reply reply, const std::string& what) {
    if (reply.refusal) throw std::runtime_error{what + ": " + reply.refusal->message};
    return reply;
  }

  sql::Wakeup wakeup_;
  const Settings settings_;
  Connection connection_;
};

/// A text that no other test of this run has.
inline std::string unique(const std::string& prefix) {
  static std::atomic<int> count{0};
  return fmt::format("{}_{}_{}", prefix, ::getpid(), ++count);
}

/// A new, empty database on a server. It stays until that server is thrown away.
inline MySqlOptions own_database(MySqlOptions options) {
  const std::string name = unique("own");
  Console{options}.run(fmt::format("CREATE DATABASE {} CHARACTER SET utf8mb4", name));
  options.database = name;
  return options;
}

/// The server that all tests of a run share.
inline MySqlOptions shared() { return options_of(support::mariadb_location()); }

inline MySqlOptions own_database() { return own_database(shared()); }

/// A new user that may do what `rights` say, e.g. "SELECT ON db.*", or nothing.
inline MySqlOptions own_user(MySqlOptions options, const std::string& rights) {
  const std::string name = unique("user");
  Console console{options};
  console.run(fmt::format("CREATE USER '{}'@'%' IDENTIFIED BY 'own-password-77'", name));
  if (!rights.empty()) console.run(fmt::format("GRANT {} TO '{}'@'%'", rights, name));
  options.user = name;
  options.password = Secret{"own-password-77"};
  return options;
}

/// The table as the JVM library documents it, in a database whose collation ignores case.
inline void make_jvm_table(Console& console) {
  console.run(
      "CREATE TABLE simba_mutex (mutex varchar(66) NOT NULL PRIMARY KEY, acquired_at bigint "
      "unsigned NOT NULL, ttl_at bigint unsigned NOT NULL, transition_at bigint unsigned NOT NULL, "
      "owner_id varchar(128) NOT NULL, version int unsigned NOT NULL) ENGINE = InnoDB DEFAULT "
      "CHARSET = utf8mb4 COLLATE = utf8mb4_general_ci");
}

/// A database and what a session of it needs.
struct Client {
  explicit Client(const MySqlOptions& options, std::shared_ptr<Logger> log = make_null_logger())
      : database{Settings{options}, std::move(log)} {}

  std::unique_ptr<sql::Session> connect() { return database.connect(soon(), closing); }

  sql::Wakeup closing;
  MySqlDatabase database;
};

inline sql::Ask ask(const std::string& mutex, const std::string& contender_id) {
  return {.mutex = mutex, .contender_id = contender_id, .ttl = 10s, .transition = 6s};
}

/// One ask, which must be answered.
inline sql::Row change(sql::Session& session, sql::Change change, const sql::Ask& ask) {
  const auto rows = session.change(change, std::vector{ask}, soon());
  if (rows.size() != 1) throw std::runtime_error{fmt::format("{} rows", rows.size())};
  return rows.front();
}

/// The error of a call that must fail.
template <typename Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error{ErrorKind::internal, ""};
}

}  // namespace simba::mysql::test
