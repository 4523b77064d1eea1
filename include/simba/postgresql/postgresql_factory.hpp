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

namespace simba::postgresql {

/// Whether waiters are notified of changes by LISTEN/NOTIFY.
enum class Listen {
  yes,  ///< one more connection, opened at the first wait; each connection must have its own
        ///< session
  no,   ///< for poolers that share sessions (PgBouncer): waiters poll instead, and statements are
        ///< not prepared, which makes them slower
};

struct PostgreSqlOptions {
  /// A name or address, or a Unix socket directory: "/...". Several are separated by commas, each
  /// with a port of its own or not: "db1,db2:5433". They are tried in order until one accepts
  /// writes (`target_session_attrs=read-write`); one that does not answer within `connect_timeout`
  /// is tried last the next time.
  std::string host = "127.0.0.1";
  std::uint16_t port = 5432;        ///< of hosts without one
  std::string user{};               ///< empty: the name of the operating system user
  Secret password{};                ///< empty: what libpq finds (PGPASSWORD, ~/.pgpass)
  CredentialsSource credentials{};  ///< not empty: called for each new connection, on the thread
                                    ///< that connects
  std::string database{};           ///< empty: the user name
  TlsOptions tls{};                 ///< if the mode is unset, libpq's (PGSSLMODE) applies; if
                                    ///< `ca_file` is empty, PGSSLROOTCERT
  Listen listen = Listen::yes;
  sql::SqlOptions sql{};
};

/// A factory whose services contend through table `simba_mutex` of a PostgreSQL database.
///
/// Creating it does not connect. That happens at the first request, so a server that is down is
/// handled like one that goes down later, and is reconnected automatically. Throws
/// InvalidArgumentError if an option is out of bounds or two contradict each other.
std::unique_ptr<MutexServiceFactory> make_postgresql_factory(PostgreSqlOptions options);

/// Only the store, for code that wraps it.
std::shared_ptr<engine::LeaseStore> make_postgresql_store(const PostgreSqlOptions& options,
                                                          std::shared_ptr<const Runtime> runtime);

/// The table, row by row, for tools.
std::unique_ptr<sql::MutexOwnerRepository> make_postgresql_repository(PostgreSqlOptions options);

}  // namespace simba::postgresql
