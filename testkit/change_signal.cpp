#include "simba/testkit/change_signal.hpp"

namespace simba::testkit {

void ChangeSignal::changed() {
  {
    const std::lock_guard lock{mutex_};
    ++changes_;
  }
  condition_.notify_all();
}

bool ChangeSignal::wait(const std::function<bool()>& done, std::chrono::milliseconds limit) const {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    std::uint64_t seen = 0;
    {
      const std::lock_guard lock{mutex_};
      seen = changes_;
    }
    if (done()) {
      return true;
    }
    std::unique_lock lock{mutex_};
    if (!condition_.wait_until(lock, deadline, [&] { return changes_ != seen; })) {
      return false;
    }
  }
}

}  // namespace simba::testkit
