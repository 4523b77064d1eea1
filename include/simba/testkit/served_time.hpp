#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <thread>

namespace simba::testkit {

/// A clock for checking time bounds of the code under test: a thread sleeps one millisecond at a
/// time and counts. It is never ahead of real time, keeps up with it on an idle machine, and almost
/// stops while the machine is overloaded. So a stall of the machine does not violate a bound, but a
/// needless wait in the code still does.
///
/// Threads: `now` may be called concurrently from any thread.
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

  /// The time since it was created.
  std::chrono::milliseconds now() const noexcept {
    return std::chrono::milliseconds{milliseconds_.load()};
  }

  /// How long a call takes.
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
