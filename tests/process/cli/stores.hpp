#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "process/cli/program.hpp"
#include "support/location.hpp"
#include "support/temporary_folder.hpp"
#include "support/zookeeper/zookeeper_servers.hpp"

namespace simba::support {

/// A kind of store, for tests of the command that are the same on all of them.
struct CliStore {
  std::string name;

  /// Its URL; `password` instead of the right one where it is not empty. SQLite is in `folder`.
  std::function<std::string(const std::filesystem::path& folder, const std::string& password)> url;

  /// The URL of such a server that is not there; empty: it has none.
  std::string nowhere{};

  bool has_password = false;
  bool has_wall_clock = true;
};

inline void PrintTo(const CliStore& store, std::ostream* stream) { *stream << store.name; }

inline std::string url_with(const std::string& scheme, const Location& location,
                            const std::string& password) {
  // A database of Redis has a number.
  const std::string database = scheme == "redis" ? "0" : location.database;
  return fmt::format("{}://{}:{}@{}:{}/{}", scheme, location.user,
                     password.empty() ? location.password : password, location.host, location.port,
                     database);
}

inline std::vector<CliStore> cli_stores() {
  using Folder = std::filesystem::path;
  // Port 1 of the loopback is closed.
  return {
      {.name = "Sqlite",
       .url =
           [](const Folder& folder, const std::string& /*password*/) {
             return "sqlite:" + (folder / "simba.db").string();
           },
       .has_wall_clock = false},
      {.name = "PostgreSql",
       .url =
           [](const Folder& /*folder*/, const std::string& password) {
             return url_with("postgresql", postgresql_location(), password);
           },
       .nowhere = "postgresql://simba@127.0.0.1:1/simba",
       .has_password = true},
      {.name = "MariaDb",
       .url =
           [](const Folder& /*folder*/, const std::string& password) {
             return url_with("mysql", mariadb_location(), password);
           },
       .nowhere = "mysql://simba@127.0.0.1:1/simba",
       .has_password = true},
      {.name = "Redis",
       .url =
           [](const Folder& /*folder*/, const std::string& password) {
             Location location = redis_location();
             location.user = "admin";  // who may list keys
             return url_with("redis", location, password);
           },
       .nowhere = "redis://127.0.0.1:1",
       .has_password = true},
      {.name = "ZooKeeper",
       .url =
           [](const Folder& /*folder*/, const std::string& /*password*/) {
             const Location location = zookeeper_location();
             return fmt::format("zookeeper://{}:{}/?session-timeout=4s", location.host,
                                location.port);
           },
       .nowhere = "zookeeper://127.0.0.1:1/?connection-timeout=500ms"},
  };
}

inline std::string cli_store_name(const CliStore& store) { return store.name; }

/// What a command that has ended left.
struct CliEnd {
  int code = 0;
  std::string out{};
  std::string err{};
};

inline CliEnd run_cli(std::vector<std::string> arguments,
                      const CliProgram::Variables& variables = {}) {
  CliProgram program{std::move(arguments), variables};
  const int code = program.wait();
  return {.code = code, .out = program.out(), .err = program.err()};
}

/// A name that no other test uses on a shared server.
inline std::string own_mutex(const std::string& name) {
  return fmt::format("cli-{}-{}", name, ::getpid());
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace simba::support
