#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "process/mysql/console.hpp"
#include "process/postgresql/console.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/mysql/mysql_factory.hpp"
#include "simba/postgresql/postgresql_factory.hpp"
#include "support/client_options.hpp"
#include "support/location.hpp"
#include "support/servers.hpp"

namespace simba::support {

/// A database product, for tests that are the same for all of them.
struct SqlProduct {
  std::string name;

  /// Why there is no such server here; empty: there is.
  std::function<std::string()> missing;

  /// A server of the test's own, which it may harm.
  std::function<std::unique_ptr<Server>()> make_server;

  /// A server that other tests use, too.
  std::function<Location()> shared_location;

  /// `port` instead of that of the location, e.g. of a proxy.
  std::function<std::unique_ptr<MutexServiceFactory>(const Location& location, std::uint16_t port,
                                                     const sql::SqlOptions& options)>
      make_factory;

  /// A statement of the test's own.
  std::function<void(const Location& location, const std::string& statement)> run;
};

inline void PrintTo(const SqlProduct& product, std::ostream* stream) { *stream << product.name; }

inline std::vector<SqlProduct> sql_server_products() {
  const auto nothing = [] { return std::string{}; };
  const auto make_mysql = [](const Location& location, std::uint16_t port,
                             const sql::SqlOptions& options) {
    return mysql::make_mysql_factory(
        verifying(client_options<mysql::MySqlOptions>(location, port, options), location));
  };
  const auto run_mysql = [](const Location& location, const std::string& statement) {
    mysql::test::Console{verifying(mysql::test::options_of(location), location)}.run(statement);
  };
  return {
      {"PostgreSql", nothing, [] { return std::make_unique<PostgreSqlServer>(); },
       postgresql_location,
       [](const Location& location, std::uint16_t port, const sql::SqlOptions& options) {
         return postgresql::make_postgresql_factory(
             client_options<postgresql::PostgreSqlOptions>(location, port, options));
       },
       [](const Location& location, const std::string& statement) {
         postgresql::test::Console{postgresql::test::options_of(location)}.run(statement);
       }},
      {"MariaDb", nothing, [] { return std::make_unique<MariaDbServer>(); }, mariadb_location,
       make_mysql, run_mysql},
      {"MySql57", MySqlServer::missing, [] { return std::make_unique<MySqlServer>(); },
       mysql_location, make_mysql, run_mysql},
      {"MySql97", MySql97Server::missing, [] { return std::make_unique<MySql97Server>(); },
       mysql97_location, make_mysql, run_mysql},
  };
}

}  // namespace simba::support
