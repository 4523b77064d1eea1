#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "postgresql/connection.hpp"
#include "postgresql/database.hpp"
#include "postgresql/values.hpp"
#include "simba/core/error.hpp"
#include "simba/core/log.hpp"
#include "sql/database.hpp"
#include "support/client_options.hpp"

/// What the tests on a real PostgreSQL server share.
namespace simba::postgresql::test {

using namespace std::chrono_literals;

inline PostgreSqlOptions options_of(const support::Location& location) {
  return support::client_options<PostgreSqlOptions>(location);
}

inline LocalTime soon() { return sql::real_now() + 10s; }

/// A connection for statements of the test itself, which may be inside a transaction.
class Console {
 public:
  explicit Console(const PostgreSqlOptions& options)
      : connection_{std::make_shared<ConnectSettings>(options)} {
    connection_.open(soon(), wakeup_);
  }

  void run(const std::string& statement, const std::vector<Parameter>& parameters = {}) {
    result_of(statement, parameters);
  }

  /// The value of an expression, as text.
  std::string value(const std::string& expression) {
    const Result result = result_of(
        fmt::format("SELECT coalesce(({})::text, 'null'), '', 0, 0, 0, 0, 0", expression));
    return rows_of(result.get(), 1, "console").at(0).mutex;
  }

 private:
  Result result_of(const std::string& statement, const std::vector<Parameter>& parameters = {}) {
    return connection_.run(statement.c_str(), parameters, soon(), wakeup_);
  }

  sql::Wakeup wakeup_;
  Connection connection_;
};

/// A text that no other test of this run has.
inline std::string unique(const std::string& prefix) {
  static std::atomic<int> count{0};
  return fmt::format("{}_{}_{}", prefix, ::getpid(), ++count);
}

/// A new, empty database on the shared server. It stays until that server is thrown away.
inline PostgreSqlOptions own_database() {
  PostgreSqlOptions options = options_of(support::postgresql_location());
  const std::string name = unique("own");
  Console{options}.run("CREATE DATABASE " + name);
  options.database = name;
  return options;
}

/// A database and what a session of it needs.
struct Client {
  explicit Client(const PostgreSqlOptions& options,
                  std::shared_ptr<Logger> log = make_null_logger())
      : database{options, std::move(log)} {}

  std::unique_ptr<sql::Session> connect() { return database.connect(soon(), closing); }

  sql::Wakeup closing;
  PostgreSqlDatabase database;
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

/// An environment variable, as long as it exists.
struct Variable {
  Variable(const char* variable, const std::string& value) : name{variable} {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name); }
  const char* const name;
};

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

}  // namespace simba::postgresql::test
