// Feeds texts to what reads durations.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/support.hpp"
#include "simba/config/duration.hpp"
#include "simba/core/error.hpp"

namespace {

/// An exception other than Error is a find.
void run_config_duration(std::string_view text) {
  using namespace simba::config;
  using simba::fuzz::check;
  try {
    const auto duration = parse_signed_duration(text);
    check(parse_signed_duration(to_text(duration)) == duration,
          "a duration is read as it is written");
    check(text.starts_with('-') || parse_duration(text) == duration,
          "a duration without a sign is the same");
    check(text.starts_with('-') || duration.count() >= 0, "only a sign makes it negative");
    check(parse_signed_duration(text, WithoutUnit::milliseconds) == duration,
          "a duration with a unit is the same everywhere");
  } catch (const simba::Error& error) {
    check(error.kind() == simba::ErrorKind::configuration, "it is a fault of the configuration");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run_config_duration({reinterpret_cast<const char*>(data), size});
  return 0;
}
