#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/secret.hpp"
#include "simba/core/tls_options.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/sql/mutex_owner_repository.hpp"
#include "simba/sql/sql_options.hpp"

namespace simba::mysql {

/// The location of the database and the credentials. An aggregate: `user` and `database` must be
/// set.
struct MySqlOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 3306;
  std::string unix_socket{};  ///< a path, used instead of host and port
  std::string user{};         ///< needs SELECT, INSERT and UPDATE on table `simba_mutex`
  Secret password{};          ///< never sent in clear text
  std::string database{};

  /// There is no fallback to an unencrypted connection. An empty `ca_file` means
  /// /etc/ssl/certs/ca-certificates.crt. If the server stops responding during the TLS handshake,
  /// the connecting thread is blocked for the connect timeout, rounded up to seconds.
  TlsOptions tls{};

  /// For how many mutexes at a time a connection waits inside the server, so that a release by
  /// another process reaches the waiter immediately; the other mutexes are polled. Zero disables
  /// it. All processes should use the same account, because otherwise one may not be allowed to end
  /// the wait of another; releases by the JVM library, and across nodes of a Galera cluster, are
  /// noticed by polling only. At most 64.
  std::size_t hint_connections = 2;

  sql::SqlOptions sql{};
};

/// A factory whose services contend through table `simba_mutex` of a MySQL or MariaDB database, and
/// exclude the contenders of the JVM library on the same table.
///
/// Creating it does not connect. That happens at the first request, so a server that is down is
/// handled like one that goes down later, and is reconnected automatically. It uses at most
/// `sql.pool_size` + `hint_connections` connections.
///
/// Names are compared byte by byte. A table with another collation rejects the second of two names
/// that it considers equal; before MySQL 8.0.17 these always include names that differ only in
/// trailing spaces.
///
/// Throws InvalidArgumentError if an option is out of bounds or two contradict each other.
std::unique_ptr<MutexServiceFactory> make_mysql_factory(MySqlOptions options);

/// Only the store, for code that wraps it.
std::shared_ptr<engine::LeaseStore> make_mysql_store(const MySqlOptions& options,
                                                     std::shared_ptr<const Runtime> runtime);

/// The table, row by row, for tools.
std::unique_ptr<sql::MutexOwnerRepository> make_mysql_repository(MySqlOptions options);

}  // namespace simba::mysql
