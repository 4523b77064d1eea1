// Feeds texts to what the command shows of strangers' names and times.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "cli/errors.hpp"
#include "cli/output/output.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/times.hpp"
#include "fuzz/support.hpp"

namespace simba::cli {
namespace {

using fuzz::check;

void check_shown(std::string_view text) {
  const std::string shown = printable(text);
  const std::size_t places = width(shown) + 3;
  check(width(padded(shown, places)) == places && padded(shown, 1).starts_with(shown),
        "what is padded is as wide as was asked for");
  const std::string line = to_line(Json{{"owner", std::string{text}}});
  check(fuzz::prints(line), "an object is one line that steers no terminal");
  const Json read = Json::parse(line);
  check(read.contains("owner"), "an object can be read");
  check(!fuzz::is_utf8(text) || read.at("owner").get<std::string>() == text,
        "what is escaped in an object is not changed");
}

void check_duration(std::string_view text) {
  try {
    check(parse_duration(text, "--ttl").count() >= 0, "a duration is not negative");
  } catch (const UsageError& error) {
    check(std::string_view{error.what()}.starts_with("--ttl"), "a message names the option");
  }
}

/// Moments as a store may tell them.
void check_moments(std::string_view bytes) {
  const StoreTime told{std::chrono::milliseconds{fuzz::take_number(bytes)}};
  check(fuzz::prints(to_utc(shown(told))), "a moment prints");
  check(fuzz::prints(to_date_and_time(shown(told))), "a moment prints");
  check(fuzz::prints(to_time(shown(told))), "a moment prints");
  constexpr WallTime asked{std::chrono::milliseconds{1'700'000'000'000}};
  const auto clock = clock_offset(told, asked, asked + std::chrono::milliseconds{8});
  check((clock.offset.count() >= 0) == (shown(told) >= asked + std::chrono::milliseconds{4}),
        "a clock that is ahead is said to be ahead");
}

void run_cli_text(std::string_view text) {
  check_shown(text);
  check_duration(text);
  check_moments(text);
}

}  // namespace
}  // namespace simba::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::cli::run_cli_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
