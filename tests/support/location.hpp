#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simba::support {

/// Where a test server is and how a client gets in.
struct Location {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string user;
  std::string password;
  std::string database;  ///< SQL only
  std::string socket;    ///< PostgreSQL: the folder of the Unix socket; others: the socket itself

  /// The folder with the certificates of a server with TLS, else empty: ca.crt, client.crt and
  /// client.key (which the CA has signed), stranger.crt (a CA that has signed nothing).
  std::string certificates;

  /// Of a group of servers: the nodes of a Redis Cluster or of a ZooKeeper ensemble, or the
  /// sentinels; else empty. `port` is then one of these.
  std::vector<std::uint16_t> ports{};
  std::string master_name{};  ///< as the sentinels call it; empty: no sentinels
};

/// One line of text without spaces, for files, environments and other processes.
std::string to_string(const Location& location);

/// The inverse. Throws std::invalid_argument where the text is no location.
Location parse_location(std::string_view text);

/// A server that the tests of one run share: the one named by the file that the variable
/// SIMBA_TEST_POSTGRESQL (SIMBA_TEST_MARIADB, ...) of the environment names, as CTest does; without
/// it, one that is started now and lives until this process ends. The same at each call. Use tables
/// or mutex names of your own, and do not stop it: a test that does so starts a server itself.
///
/// Threads: may be called from any thread.
Location postgresql_location();
Location mariadb_location();
Location redis_location();
Location redis_tls_location();
Location redis_cluster_location();
Location redis_sentinel_location();
Location zookeeper_location();
Location zookeeper_ensemble_location();

/// A MySQL 5.7, or 9.7, that lives until this process ends. Ask `MySqlServer::missing()`, or
/// `MySql97Server::missing()`, first.
Location mysql_location();
Location mysql97_location();

}  // namespace simba::support
