#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include <asio/basic_waitable_timer.hpp>
#include <asio/io_context.hpp>

#include "core/boot_clock.hpp"
#include "core/threads/event_loop.hpp"

namespace simba::redis {

/// A timer of the loop on CLOCK_BOOTTIME.
///
/// Threads: used on the loop's thread only.
class ConnectionTimer {
 public:
  explicit ConnectionTimer(detail::EventLoop& loop)
      : loop_{loop}, timer_{loop.io().get_executor()} {}

  /// Calls `handler` at `due`, in place of what it was to call. A call that was due already and has
  /// not come yet comes nevertheless: the handler tells by its own state whether it is meant.
  template <typename Handler>
  void arm(LocalTime due, Handler handler) {
    timer_.expires_at(due);
    timer_.async_wait([&loop = loop_, run = std::move(handler)](const asio::error_code& cancelled) {
      loop.leave_in_child();
      if (!cancelled) run();
    });
  }

  void cancel() { timer_.cancel(); }

 private:
  /// Asio waits on CLOCK_MONOTONIC, which stands still while the machine sleeps: after a second at
  /// most it looks at our clock again.
  struct SlicedWait {
    static std::chrono::nanoseconds to_wait_duration(const std::chrono::nanoseconds& wait) {
      return std::min<std::chrono::nanoseconds>(wait, std::chrono::seconds{1});
    }
  };

  detail::EventLoop& loop_;
  asio::basic_waitable_timer<detail::BootClock, SlicedWait, asio::io_context::executor_type> timer_;
};

}  // namespace simba::redis
