#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/redis/redis_servers.hpp"  // IWYU pragma: export
#include "support/server.hpp"
#include "support/zookeeper/zookeeper_servers.hpp"  // IWYU pragma: export

namespace simba::support {

/// PostgreSQL of Debian. The user "simba" is a superuser with a password and owns the database
/// "simba". `arguments` are for the server, e.g. {"-c", "max_connections=5"}.
class PostgreSqlServer final : public Server {
 public:
  explicit PostgreSqlServer(Tls tls = Tls::off, std::vector<std::string> arguments = {})
      : Server{{"postgresql", tls, std::move(arguments)}} {}
};

/// MariaDB of Debian. The user "simba" has a password and all rights, also to create users; the
/// database is "simba". `arguments` are for the server, e.g. {"--max-connections=5"}.
class MariaDbServer final : public Server {
 public:
  explicit MariaDbServer(Tls tls = Tls::off, std::vector<std::string> arguments = {})
      : Server{{"mariadb", tls, std::move(arguments)}} {}
};

/// The real MySQL 5.7, which scripts/fetch-mysql.sh brings to build/mysql-5.7. No TLS.
class MySqlServer final : public Server {
 public:
  explicit MySqlServer(std::vector<std::string> arguments = {})
      : Server{{"mysql", Tls::off, std::move(arguments)}} {}

  /// Why it cannot be started here, for GTEST_SKIP(); empty: it can.
  static std::string missing();
};

/// MySQL 9.7 of Debian's unstable, which scripts/fetch-server.sh brings to build/servers/sid/mysql.
/// Its accounts have caching_sha2_password, for which a client must trust the server: with TLS.
class MySql97Server final : public Server {
 public:
  explicit MySql97Server(std::vector<std::string> arguments = {})
      : Server{{"mysql97", Tls::on, std::move(arguments)}} {}

  /// Why it cannot be started here, for GTEST_SKIP(); empty: it can.
  static std::string missing();
};

/// Prometheus of Debian, which scripts/fetch-prometheus.sh brings to build/prometheus. `files` are
/// those of its configuration: "prometheus.yml=...".
class PrometheusServer final : public Server {
 public:
  explicit PrometheusServer(std::vector<std::string> files)
      : Server{{"prometheus", Tls::off, std::move(files)}} {}

  /// Why it cannot be started here, for GTEST_SKIP(); empty: it can.
  static std::string missing();
};

}  // namespace simba::support
