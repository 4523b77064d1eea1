#include "cli/duration.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "cli/errors.hpp"

namespace simba::cli {

std::chrono::milliseconds parse_duration(std::string_view text, std::string_view option) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> units{
      {{"", 1}, {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};
  // So that it can be counted in nanoseconds.
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1'000'000 / 4;
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc{} && count >= 0) {
    for (const auto& [unit, milliseconds] : units) {
      if (std::string_view{stop, static_cast<std::size_t>(end - stop)} != unit) continue;
      if (count <= most / milliseconds) return std::chrono::milliseconds{count * milliseconds};
    }
  }
  throw UsageError{fmt::format(
      "{} is \"{}\", which is no duration; write 500ms, 10s, 2m, 1h or a number of milliseconds",
      option, text)};
}

std::string to_text(std::chrono::nanoseconds span) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  if (milliseconds < 1'000) return fmt::format("{} ms", milliseconds);
  if (milliseconds < 120'000) {
    return fmt::format("{:.6g} s", static_cast<double>(milliseconds / 100) / 10.0);
  }
  return fmt::format("{} min", milliseconds / 60'000);
}

}  // namespace simba::cli
