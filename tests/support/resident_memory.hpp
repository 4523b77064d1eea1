#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <stop_token>
#include <thread>
#include <unistd.h>

namespace simba::support {

inline std::size_t resident_bytes() {
  std::ifstream facts{"/proc/self/statm"};
  std::size_t all = 0;
  std::size_t resident = 0;
  facts >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// By how many bytes this process was larger meanwhile than before, at most.
template <typename Act>
std::size_t growth_during(Act act) {
  const std::size_t before = resident_bytes();
  std::size_t most = before;
  {
    const std::jthread watcher{[&most](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        most = std::max(most, resident_bytes());
        std::this_thread::yield();
      }
    }};
    act();
  }
  return most - before;
}

}  // namespace simba::support
