#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/fork/leaked_in_child.hpp"
#include "core/threads/event_loop.hpp"
#include "core/threads/thread_group.hpp"
#include "simba/core/log.hpp"

namespace simba::redis {

/// The thread on which the connections of one store live.
///
/// Threads: every function may be called from any thread, also its own.
/// Lifetime: the destructor stops it. In a forked child no function does anything: the thread is
/// the parent's.
class IoThread {
 public:
  /// `name` names the thread, in at most 15 bytes. Throws std::system_error if the system gives
  /// no thread.
  IoThread(const std::string& name, std::shared_ptr<const detail::ThreadGroup> group,
           std::shared_ptr<Logger> log);
  ~IoThread() { stop(); }
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  const std::shared_ptr<detail::EventLoop>& loop() const noexcept { return parts_->loop; }

  /// Runs `task` on the thread. What it throws is logged. After stop() it may never run.
  void post(std::function<void()> task);

  /// Ends the thread, after what is ready to run has run, and waits for it; called on a thread of
  /// the group it lets it go. All connections must have been closed: one that was not is never
  /// freed.
  void stop();

 private:
  struct Parts {
    explicit Parts(std::shared_ptr<detail::EventLoop> event_loop) : loop{std::move(event_loop)} {}
    bool in_forked_child() const noexcept { return loop->in_forked_child(); }

    std::shared_ptr<detail::EventLoop> loop;
    std::mutex mutex{};
    std::thread thread{};  // guarded by mutex once it runs
  };

  detail::LeakedInChild<Parts> parts_;
};

}  // namespace simba::redis
