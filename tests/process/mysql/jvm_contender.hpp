#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "process/mysql/console.hpp"

namespace simba::mysql::test {

/// A contender of the JVM library: the statements of the protocol, one by one, and no safer than
/// that library. It asks by an UPDATE and a SELECT in one transaction, at REPEATABLE READ, and
/// keeps the row locked until the COMMIT, whether it got the mutex or not.
class JvmContender {
 public:
  JvmContender(const MySqlOptions& options, std::string id)
      : console_{options}, id_{std::move(id)} {
    console_.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  }

  bool acquire(const std::string& mutex, int ttl = 10'000, int transition = 6'000) {
    const bool acquired = begin_acquire(mutex, ttl, transition);
    commit();
    return acquired;
  }

  /// All of it but the COMMIT.
  bool begin_acquire(const std::string& mutex, int ttl = 10'000, int transition = 6'000) {
    const std::string now = "CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS UNSIGNED)";
    try {
      console_.run(fmt::format("INSERT INTO simba_mutex VALUES ('{}', 0, 0, 0, '', 0)", mutex));
    } catch (const std::runtime_error&) {  // it exists
    }
    console_.run("START TRANSACTION");
    console_.run(fmt::format(
        "UPDATE simba_mutex SET acquired_at = {0}, ttl_at = {0} + {1}, transition_at = {0} + {1} + "
        "{2}, owner_id = '{3}', version = version + 1 WHERE mutex = '{4}' AND ((transition_at < "
        "{0}) OR (owner_id = '{3}' AND transition_at > {0}))",
        now, ttl, transition, id_, mutex));
    return console_.value(
               fmt::format("SELECT owner_id FROM simba_mutex WHERE mutex = '{}'", mutex)) == id_;
  }

  /// The number of its session at the server.
  std::string session() { return console_.value("SELECT CONNECTION_ID()"); }

  void commit() { console_.run("COMMIT"); }

  bool release(const std::string& mutex) {
    return console_.affected(fmt::format(
               "UPDATE simba_mutex SET acquired_at = 0, ttl_at = 0, transition_at = 0, owner_id = "
               "'', version = version + 1 WHERE mutex = '{}' AND owner_id = '{}'",
               mutex, id_)) == 1;
  }

 private:
  Console console_;
  const std::string id_;
};

}  // namespace simba::mysql::test
