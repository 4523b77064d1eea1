#include "core/threads/blocking_waiter.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace simba::detail {
namespace {

class BlockingWaiter final : public Waiter {
 public:
  explicit BlockingWaiter(std::shared_ptr<const Clock> clock) : clock_{std::move(clock)} {}

  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  LocalTime deadline, const std::function<bool()>& ready) override {
    if (deadline == never) {
      changed.wait(lock, ready);
      return true;
    }
    while (!ready()) {
      const LocalTime now = clock_->now();
      if (now >= deadline) return false;
      // A condition variable counts CLOCK_MONOTONIC, which stands still while the machine sleeps.
      // So our clock is read again after a second at the latest.
      constexpr std::chrono::nanoseconds slice = std::chrono::seconds{1};
      changed.wait_for(lock, std::min(deadline - now, slice));
    }
    return true;
  }

 private:
  const std::shared_ptr<const Clock> clock_;
};

}  // namespace

std::shared_ptr<Waiter> make_blocking_waiter(std::shared_ptr<const Clock> clock) {
  return std::make_shared<BlockingWaiter>(std::move(clock));
}

}  // namespace simba::detail
