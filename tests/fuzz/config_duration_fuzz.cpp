// Feeds texts to what reads durations.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "simba/config/duration.hpp"
#include "simba/core/error.hpp"

namespace {

/// An exception other than Error is a find, and so is a duration that is not written as it is read.
void run(std::string_view text) {
  using namespace simba::config;
  try {
    const auto duration = parse_signed_duration(text);
    if (parse_signed_duration(to_text(duration)) != duration) std::abort();
    if (!text.starts_with('-') && parse_duration(text) != duration) std::abort();
  } catch (const simba::Error& error) {
    if (error.kind() != simba::ErrorKind::configuration) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run({reinterpret_cast<const char*>(data), size});
  return 0;
}
