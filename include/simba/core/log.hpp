#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace simba {

enum class LogLevel { debug, info, warn, error };

/// The destination of Simba's log. Implement it to send the lines elsewhere.
///
/// `make_runtime` puts a queue in front of it (`make_queued_logger`), so a logger that blocks or
/// throws costs log lines and nothing else. A logger that is put into a `Runtime` without a queue
/// must neither block nor throw.
///
/// Threads: every function may be called concurrently from any thread. Behind a queue, `log_at`
/// is called by one thread only, one line at a time and in order.
class Logger {
 public:
  virtual ~Logger() = default;

  /// False lets callers skip building the message.
  virtual bool enabled(LogLevel level) const = 0;

  /// Writes one line. Messages contain no passwords.
  virtual void log(LogLevel level, std::string_view message) = 0;

  /// Writes a line that was logged at `when`. Override it to write that time; by default it calls
  /// `log`.
  virtual void log_at(std::chrono::system_clock::time_point /*when*/, LogLevel level,
                      std::string_view message) {
    log(level, message);
  }

  /// Waits up to `limit` until the lines logged so far have been written. Returns whether they
  /// have.
  virtual bool flush(std::chrono::nanoseconds /*limit*/) { return true; }

  /// The number of lines dropped so far because the queue was full.
  virtual std::uint64_t dropped() const noexcept { return 0; }
};

/// Writes through spdlog: to the logger registered there as "simba" if there is one, else to a
/// logger of that format on standard error at level info.
std::shared_ptr<Logger> make_default_logger();

/// What a queue passes on.
enum class LogText {
  printable,  ///< control characters, line ends and what changes the direction of text escaped, as
              ///< `\x1b`
  as_is,      ///< for a stream of text whose parts have been escaped already
};

/// Puts a queue in front of `to`: no call blocks or throws, whatever `to` does. A separate thread
/// passes the lines on, in order and with the time at which they were logged. While 10,000 lines
/// are queued, further ones are dropped; their number is logged once there is room again. A change
/// of `to.enabled()` is noticed within about a second.
///
/// The destructor waits up to a second for queued lines to be written; after that the rest is lost
/// and the thread is detached. Lines that were not flushed are also lost if the process crashes or
/// calls `_exit`. In a forked child every line is dropped: the thread exists only in the parent.
///
/// Returns `to` itself if it already is such a queue, or drops every line.
/// Throws std::system_error if no thread can be started.
std::shared_ptr<Logger> make_queued_logger(std::shared_ptr<Logger> to,
                                           LogText text = LogText::printable);

/// Drops every line.
std::shared_ptr<Logger> make_null_logger();

}  // namespace simba
