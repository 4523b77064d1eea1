// Feeds bytes to the look at a server's greeting, which decides whether a password may follow.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/support.hpp"
#include "mysql/greeting.hpp"

namespace simba::mysql {
namespace {

using fuzz::check;

void run_mysql_greeting(std::string_view bytes) {
  const Greeting whole = read_greeting(bytes);
  // What was decided stays so, whatever follows, and however few bytes came at first.
  check(whole == Greeting::incomplete || read_greeting(std::string{bytes} + "\xFF\xFF") == whole,
        "bytes that follow change nothing");
  bool decided = false;
  for (std::size_t size = 0; size < bytes.size() && !decided; ++size) {
    const Greeting part = read_greeting(bytes.substr(0, size));
    decided = part != Greeting::incomplete;
    check(!decided || part == whole, "a part is not understood in another way than the whole");
  }
}

}  // namespace
}  // namespace simba::mysql

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::mysql::run_mysql_greeting({reinterpret_cast<const char*>(data), size});
  return 0;
}
