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

  /// A session that holds a named lock of its own, for those to wait for that wait for hints.
  struct OpenSession {
    std::uint64_t serial = 0;      ///< ours: a server that was restarted gives its numbers again
    std::uint64_t connection = 0;  ///< the number of its connection
  };
  /// Answers with the serial number.
  std::uint64_t session_opened(std::uint64_t connection);
  /// It was closed here, or its lock was found to be free.
  void session_closed(std::uint64_t serial);
  std::optional<OpenSession> open_session() const;

  /// Which connection of this process waits inside the server for which mutex; an empty name: none.
  void connection_waits(std::uint64_t connection, const std::string& mutex);
  std::optional<std::uint64_t> waiting_for(const std::string& mutex) const;

  /// The table takes the name of a mutex for another. Logged once a name.
  void name_taken(const std::string& mutex, const std::string& message);

 private:
  std::atomic<bool> hints_;
  std::atomic<bool> hints_failing_{false};
  mutable std::mutex mutex_;
  std::set<std::string> taken_names_;                // guarded by mutex_
  std::uint64_t last_serial_ = 0;                    // guarded by mutex_
  std::map<std::uint64_t, std::uint64_t> sessions_;  // guarded by mutex_; by serial, a few
  std::map<std::uint64_t, std::string> waiting_;     // guarded by mutex_; a few
};

}  // namespace simba::mysql
