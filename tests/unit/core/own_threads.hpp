#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace simba::test {

/// The first line of `file` that begins with `prefix`, without it.
inline std::string line_after(const std::filesystem::path& file, std::string_view prefix) {
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(prefix)) return line.substr(prefix.size());
  }
  return {};
}

/// How many threads of this process have names that begin with `prefix`.
inline auto threads_named(std::string_view prefix) {
  const std::filesystem::directory_iterator tasks{"/proc/self/task"};
  return std::count_if(begin(tasks), end(tasks), [&](const auto& task) {
    return line_after(task.path() / "comm", "").starts_with(prefix);
  });
}

/// True as soon as `condition` holds: a thread that was joined leaves /proc a little later.
inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace simba::test
