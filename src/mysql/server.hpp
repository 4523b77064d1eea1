#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "mysql/settings.hpp"
#include "simba/core/error.hpp"
#include "simba/core/log.hpp"
#include "simba/core/time.hpp"

namespace simba::mysql {

/// What the JVM library can read of a version, a Java int. Users are warned from half of it on.
inline constexpr std::uint64_t largest_jvm_version = 2'147'483'647;

/// What to tell of a version that is beyond half of that.
std::string version_warning(std::string_view mutex, std::uint64_t version);

/// What the connections of one database share: the settings, and what was learnt of the server.
///
/// Threads: every function may be called from any thread at the same time.
class Server {
 public:
  Server(Settings checked, std::shared_ptr<Logger> logger);

  const Settings settings;
  const std::shared_ptr<Logger> log;

  std::atomic<bool> table_seen{false};       ///< it exists and has our columns
  std::atomic<bool> repeatable_read{false};  ///< the binary log allows nothing less

  /// An answer had this version: it is logged, once for each mutex, where it is beyond half of what
  /// the JVM library can read.
  void saw_version(const std::string& mutex, std::uint64_t version);

  /// Counts a connection that is about to be made. Throws Error `unavailable` where the server that
  /// answered last may have as many of this process as the pool has, with those that were closed
  /// while a statement was under way: it executes that until its wait for a lock is over.
  void open_place();

  /// That connection has reached the server that calls itself `identity`; empty: it does not tell.
  /// What others at the same address were left with does not count here. Throws like `open_place`
  /// where this one has as many without it.
  void arrived(const std::string& identity);

  /// That connection, to the server `identity`, is closed; empty: it had not arrived. `busy_until`:
  /// how long that server may go on with what it was asked last; in the past: not at all.
  void close_place(const std::string& identity, LocalTime busy_until);

 private:
  std::size_t left_behind() const;
  Error full(std::size_t left_behind) const;

  std::mutex mutex_;

  // guarded by mutex_
  std::size_t open_ = 0;
  std::string latest_{};                                 // the identity of who answered last
  std::multimap<LocalTime, std::string> left_behind_{};  // until when each counts, and where
  std::set<std::string> warned_of_{};                    // mutexes with a great version
};

}  // namespace simba::mysql
