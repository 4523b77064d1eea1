#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "simba/core/credentials.hpp"
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
  std::string user{};         ///< needs SELECT, INSERT and UPDATE on its tables
  /// Sent itself only to a server that is verified (`tls.mode` verify or verify_ca) or on a Unix
  /// socket. To others it is proven; accounts whose authentication method cannot do that, such as
  /// caching_sha2_password, are refused.
  Secret password{};

  /// Not empty: called for each new connection, on the thread that connects. `user` may be empty
  /// then.
  CredentialsSource credentials{};

  std::string database{};

  /// A server that does not offer TLS is sent nothing if TLS is required. For `verify` an empty
  /// `ca_file` means /etc/ssl/certs/ca-certificates.crt. If the server stops responding during the
  /// TLS handshake, the connecting thread is blocked for the connect timeout, rounded up to
  /// seconds. Must be off with `unix_socket`.
  TlsOptions tls{};

  sql::SqlOptions sql{};
};

/// A factory whose services contend through table `simba_mutex` of a MySQL or MariaDB database, and
/// exclude the contenders of the JVM library on the same table.
///
/// Creating it does not connect. That happens at the first request, so a server that is down is
/// handled like one that goes down later, and is reconnected automatically. It uses at most
/// `sql.pool_size` connections. A release by another process is noticed at the next look, each
/// `sql.poll_interval`.
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
