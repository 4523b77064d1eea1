#include "simba/core/log.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "core/fork/leaked_in_child.hpp"
#include "core/text.hpp"
#include "core/threads/thread_group.hpp"
#include "simba/core/fork_guard.hpp"

namespace simba {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      break;
  }
  return spdlog::level::err;
}

class SpdlogLogger final : public Logger {
 public:
  explicit SpdlogLogger(std::shared_ptr<spdlog::logger> logger) : logger_{std::move(logger)} {}

  bool enabled(LogLevel level) const noexcept override {
    return logger_->should_log(to_spdlog(level));
  }

  void log(LogLevel level, std::string_view message) noexcept override {
    log_at(std::chrono::system_clock::now(), level, message);
  }

  void log_at(std::chrono::system_clock::time_point when, LogLevel level,
              std::string_view message) noexcept override {
    try {
      logger_->log(when, spdlog::source_loc{}, to_spdlog(level),
                   spdlog::string_view_t{message.data(), message.size()});
    } catch (...) {  // NOLINT(bugprone-empty-catch): there is nowhere left to report it
    }
  }

 private:
  const std::shared_ptr<spdlog::logger> logger_;
};

class NullLogger final : public Logger {
 public:
  bool enabled(LogLevel /*level*/) const noexcept override { return false; }
  void log(LogLevel /*level*/, std::string_view /*message*/) noexcept override {}
};

constexpr std::size_t queue_limit = 10'000;
constexpr std::chrono::seconds flush_limit{1};
constexpr std::chrono::seconds look_at_levels{1};

/// Lines on their way to a logger that may take any time. Shared with the thread that passes them
/// on, which may be stuck in that logger for ever.
class LogQueue {
 public:
  LogQueue(std::shared_ptr<Logger> to, LogText text) : to_{std::move(to)}, text_{text} {
    read_levels();
  }

  bool enabled(LogLevel level) const noexcept { return ((levels_.load() >> bit(level)) & 1U) != 0; }

  void push(LogLevel level, std::string_view message) noexcept {
    const auto now = std::chrono::system_clock::now();
    if (fork_guard_.in_child()) {  // its lock may be held by a thread of the parent
      ++dropped_;
      return;
    }
    const std::lock_guard lock{mutex_};
    try {
      if (lines_.size() < queue_limit) {
        lines_.push_back(
            {now, level,
             text_ == LogText::as_is ? std::string{message} : detail::printable(message)});
        ++taken_;
      } else {
        drop();
      }
    } catch (...) {  // no memory
      drop();
    }
    changed_.notify_one();
  }

  bool flush(std::chrono::nanoseconds limit) {
    if (fork_guard_.in_child()) return false;
    std::unique_lock lock{mutex_};
    return passed_on_.wait_for(lock, limit, [&, taken = taken_] { return written_ >= taken; });
  }

  std::uint64_t dropped() const noexcept { return dropped_; }
  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }

  /// Passes lines on until `finish`.
  void run() noexcept {
    std::unique_lock lock{mutex_};
    for (;;) {
      changed_.wait_for(lock, look_at_levels,
                        [this] { return ending_ || missing_ != 0 || !lines_.empty(); });
      const std::vector<Line> lines = std::exchange(lines_, {});
      const std::uint64_t missing = std::exchange(missing_, 0);
      if (ending_ && lines.empty() && missing == 0) break;
      lock.unlock();
      read_levels();
      for (const Line& line : lines) pass_on(line);
      if (missing != 0) tell_missing(missing);
      lock.lock();
      written_ += lines.size();
      passed_on_.notify_all();
    }
  }

  /// Lets `run` end once everything has been passed on.
  void finish() {
    const std::lock_guard lock{mutex_};
    ending_ = true;
    changed_.notify_one();
  }

  /// Lets `run` end with the line it is stuck in.
  void give_up() noexcept { given_up_ = true; }

 private:
  struct Line {
    std::chrono::system_clock::time_point when;
    LogLevel level = LogLevel::debug;
    std::string message;
  };

  static unsigned bit(LogLevel level) noexcept { return static_cast<unsigned>(level); }

  /// With mutex_ held.
  void drop() noexcept {
    ++dropped_;
    ++missing_;
  }

  void read_levels() noexcept {
    unsigned levels = levels_;
    for (const auto level : {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error}) {
      try {
        const unsigned mask = 1U << bit(level);
        levels = to_->enabled(level) ? levels | mask : levels & ~mask;
      } catch (...) {  // NOLINT(bugprone-empty-catch): as before, then
      }
    }
    levels_ = levels;
  }

  void pass_on(const Line& line) noexcept {
    if (given_up_) return;
    try {
      to_->log_at(line.when, line.level, line.message);
    } catch (...) {  // NOLINT(bugprone-empty-catch): there is nowhere left to report it
    }
  }

  void tell_missing(std::uint64_t missing) noexcept {
    try {
      pass_on({std::chrono::system_clock::now(), LogLevel::warn,
               std::to_string(missing) + " log lines dropped: the queue of " +
                   std::to_string(queue_limit) + " lines was full"});
    } catch (...) {  // NOLINT(bugprone-empty-catch): no memory, no line
    }
  }

  // constant after construction
  const std::shared_ptr<Logger> to_;
  const LogText text_;
  const ForkGuard fork_guard_;

  std::atomic<unsigned> levels_ = 0xFU;  // a bit each
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<bool> given_up_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable passed_on_;
  // guarded by mutex_
  std::vector<Line> lines_;
  std::uint64_t missing_ = 0;  // dropped since lines_ was taken
  std::uint64_t taken_ = 0;
  std::uint64_t written_ = 0;
  bool ending_ = false;
};

class QueuedLogger final : public Logger {
 public:
  QueuedLogger(std::shared_ptr<Logger> to, LogText text)
      : parts_{std::make_shared<LogQueue>(std::move(to), text)} {}

  bool enabled(LogLevel level) const noexcept override { return parts_->queue->enabled(level); }
  void log(LogLevel level, std::string_view message) noexcept override {
    parts_->queue->push(level, message);
  }
  bool flush(std::chrono::nanoseconds limit) override { return parts_->queue->flush(limit); }
  std::uint64_t dropped() const noexcept override { return parts_->queue->dropped(); }

 private:
  struct Parts {
    explicit Parts(std::shared_ptr<LogQueue> the_queue) : queue{std::move(the_queue)} {
      thread.start("simba-log", [queue = queue] { queue->run(); });
    }
    ~Parts() {
      queue->finish();
      // This may be its own thread, where a logger was the last to hold a runtime.
      const bool own = thread.contains_this_thread();
      if (!thread.join_or_let_go(flush_limit) && !own) queue->give_up();
    }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;
    bool in_forked_child() const noexcept { return queue->in_forked_child(); }

    const std::shared_ptr<LogQueue> queue;
    detail::BoundedThreads thread;
  };

  detail::LeakedInChild<Parts> parts_;
};

}  // namespace

std::shared_ptr<Logger> make_default_logger() {
  auto logger = spdlog::get("simba");
  if (!logger) {
    // Not registered, so that the name stays free for a logger of the user.
    logger = std::make_shared<spdlog::logger>(
        "simba", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_level(spdlog::level::info);
  }
  return std::make_shared<SpdlogLogger>(std::move(logger));
}

std::shared_ptr<Logger> make_queued_logger(std::shared_ptr<Logger> to, LogText text) {
  const bool needs_none = dynamic_cast<const QueuedLogger*>(to.get()) != nullptr ||
                          dynamic_cast<const NullLogger*>(to.get()) != nullptr;
  return needs_none ? std::move(to) : std::make_shared<QueuedLogger>(std::move(to), text);
}

std::shared_ptr<Logger> make_null_logger() { return std::make_shared<NullLogger>(); }

}  // namespace simba
