#pragma once

#include <filesystem>
#include <memory>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/sql/mutex_owner_repository.hpp"
#include "simba/sql/sql_options.hpp"

namespace simba::sqlite {

/// Whether child processes of an owner keep its mutexes locked when it dies.
enum class ChildProcesses {
  ignore,     ///< its mutexes are free as soon as its own process has died
  keep_lock,  ///< they stay locked until the programs that it started have died too
};

struct SqliteOptions {
  std::filesystem::path path{};  ///< created if it is missing, but not its directory
  ChildProcesses child_processes = ChildProcesses::ignore;
  sql::SqlOptions sql{};
};

/// A factory whose services contend through an SQLite database: for the processes of one host,
/// without a server.
///
/// Leases use the host's CLOCK_BOOTTIME, which never jumps: setting the wall clock does not affect
/// them. After a reboot all mutexes are free. If the owner's process dies, its mutexes are free
/// immediately: each process holds a lock on the file `<path>-alive`, which the kernel drops when
/// the process ends, however it ends. A process that is only paused keeps its lease.
///
/// Every acquisition is on disk before it is answered (one fsync), so no fencing token repeats even
/// after a power failure. Renewals and releases need no fsync.
///
/// Not guaranteed: anything on a network file system, or between hosts.
///
/// Creating it does not open the file; that happens at the first request.
/// Throws InvalidArgumentError if an option is out of bounds or two contradict each other.
std::unique_ptr<MutexServiceFactory> make_sqlite_factory(SqliteOptions options);

/// Only the store, for code that wraps it.
std::shared_ptr<engine::LeaseStore> make_sqlite_store(const SqliteOptions& options,
                                                      std::shared_ptr<const Runtime> runtime);

/// The table, row by row, for tools.
std::unique_ptr<sql::MutexOwnerRepository> make_sqlite_repository(SqliteOptions options);

}  // namespace simba::sqlite
