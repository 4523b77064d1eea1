#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/event_loop.hpp"
#include "core/leaked_in_child.hpp"
#include "simba/core/executor.hpp"

namespace simba::detail {

/// A fixed number of threads over one queue. The destructor lets what is queued run to its end, and
/// waits for it unless it is called on a thread of the runtime.
///
/// In a forked child `execute` throws IllegalStateError: the threads exist in the parent only.
class ThreadPool final : public Executor {
 public:
  /// `name` and a number name the threads. They start at the first `execute`, or at `start()`.
  ThreadPool(std::string name, std::size_t threads, std::shared_ptr<const ThreadGroup> group,
             std::shared_ptr<Logger> log);

  /// Throws std::system_error where the system gives no thread.
  void start();

  void execute(std::function<void()> task) override;
  bool running_in_this_thread() const noexcept override;

 private:
  struct Parts {
    explicit Parts(std::shared_ptr<EventLoop> event_loop) : loop{std::move(event_loop)} {}
    ~Parts();
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;
    bool in_forked_child() const noexcept { return loop->in_forked_child(); }

    std::shared_ptr<EventLoop> loop;
    std::vector<std::thread> threads;
  };

  void start_threads();

  const std::string name_;
  const std::size_t size_;
  std::once_flag started_;
  LeakedInChild<Parts> parts_;  // its threads are written by start_threads() only
};

}  // namespace simba::detail
