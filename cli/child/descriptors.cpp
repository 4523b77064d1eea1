#include "cli/child/descriptors.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <system_error>

#include "core/text.hpp"

namespace simba::cli {

std::vector<int> open_descriptors() {
  std::vector<int> open;
  std::error_code missing;
  for (const auto& file : std::filesystem::directory_iterator{"/proc/self/fd", missing}) {
    open.push_back(detail::parse_number<int>(file.path().filename().string()).value_or(-1));
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
