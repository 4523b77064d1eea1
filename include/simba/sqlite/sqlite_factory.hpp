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
  keep_lock,  ///< they stay locked until the programs that it started have died too, or the
              ///< lease is over
};

/// Who may use a database that is created, and who is trusted with one that exists.
enum class FileMode {
  owner,  ///< 0600: this user (and root)
  group,  ///< 0660: also the group; the directory may belong to another user and be group-writable
};

/// On which file systems a database may be.
enum class FileSystem {
  local,  ///< refused on network file systems and FUSE, whose locks may not reach every process
  any,    ///< also there: you know that locks work between all processes that use the file
};

struct SqliteOptions {
  std::filesystem::path path{};  ///< created if it is missing, but not its directory
  ChildProcesses child_processes = ChildProcesses::ignore;
  FileMode mode = FileMode::owner;
  FileSystem file_system = FileSystem::local;
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
/// Whoever can write to the directory of the file, or to one above it, could replace the file or
/// its companions. Opening fails, with an error that says what to do, if that is anyone but
/// this user, root and, with `FileMode::group`, the group. The same goes for a path that is a
/// symbolic link (its directory may be named through links), and for a file that is mounted alone
/// into its directory: containers that share the file but not the directory do not see each
/// other.
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
