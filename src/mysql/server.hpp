#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "mysql/settings.hpp"
#include "simba/core/log.hpp"

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

  /// A release may ask who waits for it, and tell them.
  bool hints() const noexcept { return hints_; }

  /// For good; logged once.
  void no_more_hints(const std::string& why);

  /// A connection that waits for hints has failed, or works. Logged when that is news.
  void hints_failed(const std::string& why);
  void hints_work();

  /// Sessions that hold a named lock of their own, for those that wait for hints to wait for.
  /// Known by their addresses: a server that was restarted gives the same numbers again.
  void session_opened(const void* session, std::uint64_t connection);
  void session_closed(const void* session);
  std::optional<std::uint64_t> open_session() const;
  /// Nobody holds the lock of these sessions any more: the server has ended them.
  void session_gone(std::uint64_t connection);

  /// Which connection of this process waits inside the server for which mutex; an empty name: none.
  void connection_waits(std::uint64_t connection, const std::string& mutex);
  std::optional<std::uint64_t> waiting_for(const std::string& mutex) const;

  /// The table takes the name of a mutex for another. Logged once a name.
  void name_taken(const std::string& mutex, const std::string& message);

 private:
  std::atomic<bool> hints_;
  std::atomic<bool> hints_failing_{false};
  mutable std::mutex mutex_;
  std::set<std::string> taken_names_;              // guarded by mutex_
  std::map<const void*, std::uint64_t> sessions_;  // guarded by mutex_; a few
  std::map<std::uint64_t, std::string> waiting_;   // guarded by mutex_; a few
};

}  // namespace simba::mysql
