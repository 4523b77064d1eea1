#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace simba {

enum class LogLevel { debug, info, warn, error };

/// Where Simba writes its log. Implement it to send the lines elsewhere.
///
/// `make_runtime` puts a queue in front of it (`make_queued_logger`): there, a logger that blocks
/// or throws costs lines of the log and nothing else. Where one is put into a `Runtime` without a
/// queue, it must neither block nor throw.
///
/// Threads: every function may be called from any thread at the same time. Behind a queue, `log_at`
/// is called by one thread only, one line at a time and in order.
class Logger {
 public:
  virtual ~Logger() = default;

  /// False lets callers skip building the message.
  virtual bool enabled(LogLevel level) const = 0;

  /// Writes one line. Messages hold no passwords.
  virtual void log(LogLevel level, std::string_view message) = 0;

  /// Writes a line that was logged at `when`. Override it to write that time; by default it is
  /// `log`.
  virtual void log_at(std::chrono::system_clock::time_point /*when*/, LogLevel level,
                      std::string_view message) {
    log(level, message);
  }

  /// Waits until the lines logged so far have been written, at most `limit`. Says whether they
  /// have.
  virtual bool flush(std::chrono::nanoseconds /*limit*/) { return true; }

  /// How many lines were dropped so far rather than waited for.
  virtual std::uint64_t dropped() const noexcept { return 0; }
};

/// Writes through spdlog: to the logger registered there as "simba" if there is one, else to a
/// logger of that format on standard error at level info.
std::shared_ptr<Logger> make_default_logger();

/// Puts a queue in front of `to`: no call waits, blocks or throws, whatever `to` does. A thread of
/// its own passes the lines on, in order and with the time at which they were logged. While 10,000
/// lines wait, further ones are dropped; how many is logged in their place once there is room
/// again. A change of `to.enabled()` is noticed within about a second.
///
/// The destructor waits up to a second for what is queued to be written; after that the rest is
/// lost and the thread is left to end by itself. So are lines that a process which crashes or calls
/// `_exit` has not flushed. In a forked child every line is dropped: the thread is in the parent.
///
/// Returns `to` itself where it is such a queue already, or drops every line.
/// Throws std::system_error where the system gives no thread.
std::shared_ptr<Logger> make_queued_logger(std::shared_ptr<Logger> to);

/// Drops every line.
std::shared_ptr<Logger> make_null_logger();

}  // namespace simba
