#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/fork/leaked_in_child.hpp"
#include "core/threads/thread_group.hpp"
#include "simba/core/clock.hpp"
#include "simba/core/executor.hpp"
#include "simba/core/log.hpp"
#include "simba/core/timer.hpp"

namespace simba::detail {

/// What a pool takes from its runtime.
struct PoolSurroundings {
  std::shared_ptr<const ThreadGroup> group;
  std::shared_ptr<const Clock> clock;
  std::shared_ptr<TimerService> timers;
  std::shared_ptr<Logger> log;
};

/// A few threads over one queue, and more while tasks block them. A task that waits while the
/// threads have been busy with theirs for 10 ms gets another thread, up to `most`. A thread that
/// finds nothing to do ends when `least` others have nothing to do either.
///
/// The destructor lets what is queued run to its end, and waits for it unless it is called on a
/// thread of the runtime.
///
/// In a forked child `execute` throws IllegalStateError: the threads exist in the parent only.
class ThreadPool final : public Executor {
 public:
  /// `name` and a number name the threads. They start at the first `execute`, or at `start()`.
  ThreadPool(std::string name, std::size_t least, std::size_t most, PoolSurroundings surroundings);

  /// Throws std::system_error if no thread can be started.
  void start();

  void execute(std::function<void()> task) override;
  bool running_in_this_thread() const noexcept override;

 private:
  class Workers;

  struct Parts {
    explicit Parts(std::shared_ptr<Workers> the_workers) : workers{std::move(the_workers)} {}
    ~Parts();
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;
    bool in_forked_child() const noexcept;

    std::shared_ptr<Workers> workers;
  };

  const std::string name_;
  std::once_flag started_;
  LeakedInChild<Parts> parts_;
};

}  // namespace simba::detail
