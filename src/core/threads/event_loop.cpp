#include "core/threads/event_loop.hpp"

#include <utility>

#include "core/log_exception.hpp"

namespace simba::detail {
namespace {

struct LeftInChild {};

}  // namespace

EventLoop::EventLoop(std::string what, int threads, std::shared_ptr<const ThreadGroup> group,
                     std::shared_ptr<Logger> log)
    : what_{std::move(what)},
      group_{std::move(group)},
      log_{std::move(log)},
      io_{threads},
      work_{io_.get_executor()} {}

void EventLoop::run() noexcept {
  for (;;) {
    try {
      io_.run();
      return;
    } catch (const LeftInChild&) {
      return;
    } catch (...) {
      log_current_exception(*log_, what_);
    }
  }
}

void EventLoop::leave_in_child() const {
  if (in_forked_child()) throw LeftInChild{};
}

}  // namespace simba::detail
