#include "cli/child/descriptors.hpp"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <system_error>

namespace simba::cli {

std::vector<int> open_descriptors() {
  std::vector<int> open;
  std::error_code missing;
  for (const auto& file : std::filesystem::directory_iterator{"/proc/self/fd", missing}) {
    const std::string name = file.path().filename().string();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    open.push_back(number);
  }
  if (missing) {
    for (int number = 0; number < 1024; ++number) open.push_back(number);
  }
  // The one that we have looked with is closed again.
  std::erase_if(open, [](int number) { return ::fcntl(number, F_GETFD) < 0; });
  std::sort(open.begin(), open.end());
  return open;
}

}  // namespace simba::cli
