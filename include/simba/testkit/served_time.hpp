#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <thread>

namespace simba::testkit {

/// A clock for bounds on the code under test: it counts the milliseconds that a thread of its own
/// could sleep, one by one. It is never ahead of real time, runs with it on a machine that has time
/// for us, and all but stands still while the machine lets nobody run. So a stall of the machine
/// breaks no bound, and a needless wait in the code still does.
///
/// Threads: `now` may be called from any thread at the same time.
class ServedTime {
 public:
  ServedTime()
      : thread_{[this](const std::stop_token& over) {
          while (!over.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            ++milliseconds_;
          }
        }} {}
  ServedTime(const ServedTime&) = delete;
  ServedTime& operator=(const ServedTime&) = delete;

  /// Since it was made.
  std::chrono::milliseconds now() const noexcept {
    return std::chrono::milliseconds{milliseconds_.load()};
  }

  /// What a call takes.
  template <typename Call>
  static std::chrono::milliseconds taken_by(Call call) {
    const ServedTime time;
    call();
    return time.now();
  }

 private:
  std::atomic<std::int64_t> milliseconds_{0};
  std::jthread thread_;
};

}  // namespace simba::testkit
