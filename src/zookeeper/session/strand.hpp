#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "core/log_exception.hpp"
#include "engine/mailbox.hpp"
#include "simba/core/log.hpp"

namespace simba::zookeeper {

/// Runs tasks one at a time and in order, on the thread that posts them; what others post meanwhile
/// is run by the thread that is at it. Everything of the queues happens in here, so none of its
/// parts needs a lock, and no lock is held when someone is told something.
///
/// Threads: every function may be called from any thread.
class Strand {
 public:
  explicit Strand(std::shared_ptr<Logger> log) : log_{std::move(log)} {}

  void post(std::function<void()> task) { mailbox_.post(std::move(task), *this); }

  /// Also waits until it has run, unless this thread is in a task.
  void post_and_wait(std::function<void()> task, Waiter& waiter, LocalTime deadline) {
    mailbox_.post_and_wait(std::move(task), *this, waiter, deadline);
  }

  bool running_in_this_thread() const { return mailbox_.handling_in_this_thread(); }

 private:
  friend class engine::Mailbox<std::function<void()>>;

  void handle(const std::function<void()>& task) noexcept {
    try {
      task();
    } catch (...) {
      detail::log_current_exception(*log_, "ZooKeeper: internal error");
    }
  }
  void rest() noexcept {}

  const std::shared_ptr<Logger> log_;
  engine::Mailbox<std::function<void()>> mailbox_;
};

}  // namespace simba::zookeeper
