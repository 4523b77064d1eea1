#pragma once

#include <memory>
#include <string>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "core/threads/thread_group.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/log.hpp"

namespace simba::detail {

/// An io_context that runs until it is told to end. Its threads hold it, so that it outlives an
/// owner who is destroyed on one of them.
class EventLoop {
 public:
  /// `what` begins the log line for a handler that throws, e.g. "a timer callback threw".
  EventLoop(std::string what, int threads, std::shared_ptr<const ThreadGroup> group,
            std::shared_ptr<Logger> log);

  asio::io_context& io() noexcept { return io_; }
  const ThreadGroup& group() const noexcept { return *group_; }
  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }

  /// Runs handlers until `finish()` or `stop()`. What they throw is logged.
  void run() noexcept;

  /// Lets `run()` return once everything queued has run.
  void finish() noexcept { work_.reset(); }

  /// Lets `run()` return now.
  void stop() { io_.stop(); }

  /// Called first in each handler: where a handler forked and came back, the loop ends in the child
  /// instead of carrying out the work of its parent.
  void leave_in_child() const;

 private:
  const std::string what_;
  const std::shared_ptr<const ThreadGroup> group_;
  const std::shared_ptr<Logger> log_;
  const ForkGuard fork_guard_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
};

}  // namespace simba::detail
