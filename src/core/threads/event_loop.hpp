#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <asio/basic_waitable_timer.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "core/boot_clock.hpp"
#include "core/fork/leaked_in_child.hpp"
#include "core/threads/thread_group.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/log.hpp"

namespace simba::detail {

/// An io_context that one thread runs until it is told to end.
class EventLoop {
 public:
  /// `what` begins the log line for a handler that throws, e.g. "a timer callback threw".
  EventLoop(std::string what, std::shared_ptr<Logger> log);

  asio::io_context& io() noexcept { return io_; }
  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }

  /// Runs handlers until `stop()`, and then those that are ready: what a closed connection had
  /// under way lets go of it there. What handlers throw is logged.
  void run() noexcept;
  void stop() { io_.stop(); }

  /// Called first in each handler: where a handler forked and came back, the loop ends in the child
  /// instead of carrying out the work of its parent.
  void leave_in_child() const;

 private:
  template <typename Step>
  void repeat(Step step) noexcept;

  const std::string what_;
  const std::shared_ptr<Logger> log_;
  const ForkGuard fork_guard_;
  asio::io_context io_{1};
  const asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
};

/// A timer of a loop on CLOCK_BOOTTIME. epoll and the timerfd of Asio count CLOCK_MONOTONIC, which
/// stands still while the machine sleeps. So no single wait is longer than a second; after it Asio
/// reads our clock again.
struct SlicedWait {
  static std::chrono::nanoseconds to_wait_duration(const std::chrono::nanoseconds& wait) {
    return std::min<std::chrono::nanoseconds>(wait, std::chrono::seconds{1});
  }
};
using BootTimer =
    asio::basic_waitable_timer<BootClock, SlicedWait, asio::io_context::executor_type>;

/// An event loop with its thread, which holds the loop, so that it outlives an owner who is
/// destroyed on it.
///
/// Threads: every function may be called from any thread, also its own.
/// Lifetime: the destructor stops it. In a forked child no function does anything, and all of it is
/// leaked: the thread is the parent's.
class LoopThread {
 public:
  /// `name` names the thread, in at most 15 bytes; `what` is for the loop. Throws std::system_error
  /// if the system gives no thread.
  LoopThread(const std::string& name, std::string what, std::shared_ptr<const ThreadGroup> group,
             std::shared_ptr<Logger> log);
  ~LoopThread() { stop(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  const std::shared_ptr<EventLoop>& loop() const noexcept { return parts_->loop; }
  bool in_forked_child() const noexcept { return parts_->in_forked_child(); }

  /// Runs `task` on the thread. What it throws is logged. After stop() it may never run.
  void post(std::function<void()> task) const;

  /// Ends the thread, after what is ready to run has run, and waits for it; called on a thread of
  /// the group it lets it go. What is in the loop and holds it, such as a connection, must have
  /// been closed, or is never freed.
  void stop() noexcept;

 private:
  struct Parts {
    Parts(std::shared_ptr<EventLoop> the_loop, std::shared_ptr<const ThreadGroup> the_group)
        : loop{std::move(the_loop)}, group{std::move(the_group)} {}
    bool in_forked_child() const noexcept { return loop->in_forked_child(); }

    const std::shared_ptr<EventLoop> loop;
    const std::shared_ptr<const ThreadGroup> group;
    std::mutex mutex{};
    std::thread thread{};  // guarded by mutex once it runs
  };

  LeakedInChild<Parts> parts_;
};

}  // namespace simba::detail
