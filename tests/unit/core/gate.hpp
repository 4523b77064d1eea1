#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace simba::test {

/// Opens once; others wait for it, at most half a minute.
class Gate {
 public:
  void open() {
    const std::lock_guard lock{mutex_};
    is_open_ = true;
    changed_.notify_all();
  }

  bool opens() {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, std::chrono::seconds{30}, [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

}  // namespace simba::test
