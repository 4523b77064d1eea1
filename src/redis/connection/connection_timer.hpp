#pragma once

#include <utility>

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
  detail::EventLoop& loop_;
  detail::BootTimer timer_;
};

}  // namespace simba::redis
