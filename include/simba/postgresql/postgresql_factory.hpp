#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/secret.hpp"
#include "simba/core/tls_options.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/sql/mutex_owner_repository.hpp"
#include "simba/sql/sql_options.hpp"

namespace simba::postgresql {

/// Whether waiters are told of changes by LISTEN/NOTIFY.
enum class Listen {
  yes,  ///< one further connection, made at the first wait; each must be a session of its own
  no,   ///< for poolers that share sessions (PgBouncer): waiters look each poll interval instead,
        ///< and statements are not prepared, which makes them slower
};

struct PostgreSqlOptions {
  std::string host = "127.0.0.1";  ///< one name or address, or the folder of a Unix socket: "/..."
  std::uint16_t port = 5432;
  std::string user{};      ///< empty: the name of the system's user
  Secret password{};       ///< empty: what libpq finds (PGPASSWORD, ~/.pgpass)
  std::string database{};  ///< empty: the name of the user
  TlsOptions tls{};
  Listen listen = Listen::yes;
  sql::SqlOptions sql{};
};

/// A factory whose services contend through table `simba_mutex` of a PostgreSQL database.
///
/// Does not connect: that happens at the first request, so a server that is down is reported like
/// one that goes down later, and comes back by itself.
/// Throws InvalidArgumentError where the options contradict each other.
std::unique_ptr<MutexServiceFactory> make_postgresql_factory(PostgreSqlOptions options);

/// The store alone, for those that put something of their own around it.
std::shared_ptr<engine::LeaseStore> make_postgresql_store(const PostgreSqlOptions& options,
                                                          std::shared_ptr<const Runtime> runtime);

/// The table, row by row, for tools.
std::unique_ptr<sql::MutexOwnerRepository> make_postgresql_repository(PostgreSqlOptions options);

}  // namespace simba::postgresql
