#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "mysql/settings.hpp"
#include "simba/core/log.hpp"
#include "simba/core/time.hpp"

namespace simba::mysql {

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

  /// Counts a connection that is about to be made. Throws Error `unavailable` where the server may
  /// have as many of this process as the pool has, with those that were closed while a statement
  /// was under way: it goes on with that until its wait for a lock is over.
  void open_place();

  /// That connection is closed. `busy_until`: how long the server may go on with what it was asked
  /// last; in the past: not at all.
  void close_place(LocalTime busy_until);

  /// The table takes the name of a mutex for another. Logged once a name.
  void name_taken(const std::string& mutex, const std::string& message);

 private:
  std::mutex mutex_;
  std::set<std::string> taken_names_;       // guarded by mutex_
  std::size_t open_ = 0;                    // guarded by mutex_
  std::multiset<LocalTime> left_behind_{};  // guarded by mutex_; until when each counts
};

}  // namespace simba::mysql
