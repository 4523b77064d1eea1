// Feeds texts to the reader of /proc/PID/stat, which decides who is signalled. The name of a
// process is whatever that process wants it to be.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/child/descendants.hpp"
#include "fuzz/support.hpp"

namespace simba::cli {
namespace {

using fuzz::check;

void run_cli_stat(std::string_view text) {
  constexpr pid_t largest = 1 << 22;
  ProcessStat stat;
  if (read_stat(text, stat)) {
    for (const pid_t number : {stat.parent, stat.group, stat.session}) {
      check(number >= 0 && number <= largest * 10, "a number is one that a process can have");
    }
  } else {
    check(stat.state == '\0' && stat.parent == 0, "what is refused changes nothing");
  }

  // A process names itself so that it looks like another's.
  const std::string disguised = "17 (" + std::string{text.substr(0, 64)} + ") S 11 12 13 0 -1";
  check(read_stat(disguised, stat), "a name is not in the way");
  check(stat.state == 'S' && stat.parent == 11 && stat.group == 12 && stat.session == 13,
        "a name pretends nothing");
}

}  // namespace
}  // namespace simba::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::cli::run_cli_stat({reinterpret_cast<const char*>(data), size});
  return 0;
}
