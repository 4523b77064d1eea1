#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "simba/core/time.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "sql/workers/poll_wait.hpp"

namespace simba::sqlite {

/// Lets other processes of the host see whether this one is still there. Each process locks one
/// byte of a common file, at a place of its own that nobody uses again; the kernel drops the lock
/// when the process is gone, however it ends, and not while it is paused.
///
/// Where child processes keep the lock, they inherit a second description of the file: it is
/// read-only and has a shared lock on the same byte. Whatever they do to it, ours remains.
///
/// The file has a random name of its own inside, so that locks on a file that was deleted and made
/// again are never taken for each other's: then nobody is seen as gone, and leases decide alone.
///
/// Threads: constant after construction.
class Liveness {
 public:
  /// Opens or makes the file beside `database` and locks the byte. Throws Error.
  Liveness(const std::filesystem::path& path, const std::filesystem::path& database,
           ChildProcesses child_processes, LocalTime deadline, const sql::Wakeup& closing);
  ~Liveness();
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  /// What others need to know to ask after this process.
  const std::string& mark() const noexcept { return mark_; }

  enum class State { alive, gone, unknown };

  /// The process with this mark. What is gone stays gone.
  State state_of(std::string_view mark) const noexcept;

 private:
  const int file_;
  int inherited_ = -1;  // -1: child processes do not keep the lock
  std::string file_id_;
  std::string mark_;
};

}  // namespace simba::sqlite
