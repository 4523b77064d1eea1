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

/// Where the database is, and how to get in. An aggregate: `user` and `database` must be set.
struct MySqlOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 3306;
  std::string unix_socket{};  ///< a path; instead of host and port
  std::string user{};         ///< needs SELECT, INSERT and UPDATE on table `simba_mutex`
  Secret password{};          ///< never sent in clear text
  std::string database{};

  /// There is no fall-back to an unencrypted connection. An empty `ca_file` means
  /// /etc/ssl/certs/ca-certificates.crt. A TLS handshake that the server does not go on with holds
  /// up its thread for the connect time-out, rounded up to seconds.
  TlsOptions tls{};

  /// For how many mutexes at a time a connection waits inside the server, so that a release by
  /// another process reaches the waiter at once; the others look each poll interval. Zero turns it
  /// off. All processes should use the same account, since one may not end the wait of another
  /// otherwise; the JVM library tells nobody, and the nodes of a Galera cluster do not tell each
  /// other. At most 64.
  std::size_t hint_connections = 2;

  sql::SqlOptions sql{};
};

/// A factory whose services contend through table `simba_mutex` of a MySQL or MariaDB database, and
/// exclude the contenders of the JVM library on the same table.
///
/// Does not connect: that happens at the first request, so a server that is down is reported like
/// one that goes down later, and comes back by itself. It needs `sql.pool_size` and
/// `hint_connections` connections at most.
///
/// Names are told apart byte by byte. A table whose collation does not do so refuses the second of
/// two names that it takes for each other; on MySQL before 8.0.17 that are always those that differ
/// in trailing spaces alone.
///
/// Throws InvalidArgumentError where the options contradict each other.
std::unique_ptr<MutexServiceFactory> make_mysql_factory(MySqlOptions options);

/// The store alone, for those that put something of their own around it.
std::shared_ptr<engine::LeaseStore> make_mysql_store(const MySqlOptions& options,
                                                     std::shared_ptr<const Runtime> runtime);

/// The table, row by row, for tools.
std::unique_ptr<sql::MutexOwnerRepository> make_mysql_repository(MySqlOptions options);

}  // namespace simba::mysql
