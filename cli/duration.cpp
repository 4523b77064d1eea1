#include "cli/duration.hpp"

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "simba/config/duration.hpp"
#include "simba/core/error.hpp"

namespace simba::cli {

std::chrono::milliseconds parse_duration(std::string_view text, std::string_view option) {
  try {
    return config::parse_duration(text);
  } catch (const Error&) {
    throw UsageError{fmt::format(
        "{} is \"{}\", which is no duration; write 500ms, 10s, 2m, 1h or a number of milliseconds",
        option, text)};
  }
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
