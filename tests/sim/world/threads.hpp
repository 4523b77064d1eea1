#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <semaphore.h>
#include <thread>
#include <vector>

namespace simba::sim {

/// Whether someone may run. It waits in the system at once: whoever hands over has nothing to do.
class Baton {
 public:
  Baton() { ::sem_init(&semaphore_, 0, 0); }
  ~Baton() { ::sem_destroy(&semaphore_); }
  Baton(const Baton&) = delete;
  Baton& operator=(const Baton&) = delete;

  void hand_over() { ::sem_post(&semaphore_); }
  void await() {
    while (::sem_wait(&semaphore_) != 0) {  // interrupted by a signal
    }
  }

 private:
  ::sem_t semaphore_{};
};

/// A real thread that runs only while it holds the baton, so that exactly one thread runs at any
/// time: this one, another of these, or the driver.
class SimThread {
 public:
  SimThread() = default;
  SimThread(const SimThread&) = delete;
  SimThread& operator=(const SimThread&) = delete;

  /// Of the pool that it runs tasks of; empty: of none.
  const void* executor = nullptr;

 private:
  friend class Threads;
  std::function<void()> body_;
  Baton go_;
  std::thread thread_;
};

/// Hands the baton over. The threads are kept for later use, by other runs, too.
class Threads {
 public:
  Threads() = default;
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Runs `body` on a simulated thread until it parks or ends. By the driver only.
  void start(std::function<void()> body);

  /// Lets a parked thread go on until it parks again or ends. By the driver only.
  void resume(SimThread& thread);

  /// Gives the baton back to the driver and waits for it. By a simulated thread only.
  void park();

  /// The simulated thread that runs; null for the driver.
  static SimThread* current() noexcept;

  std::size_t busy() const noexcept { return busy_; }
  std::size_t switches() const noexcept { return switches_; }

 private:
  SimThread& idle_one();
  void serve(SimThread& thread);

  Baton driver_;
  std::vector<std::unique_ptr<SimThread>> threads_;
  std::vector<SimThread*> idle_;
  std::size_t busy_ = 0;
  std::size_t switches_ = 0;
  bool quit_ = false;
};

}  // namespace simba::sim
