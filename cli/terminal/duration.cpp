#include "cli/terminal/duration.hpp"

#include <cstdint>
#include <ratio>

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "simba/config/duration.hpp"
#include "simba/core/error.hpp"

namespace simba::cli {

std::chrono::milliseconds parse_duration(std::string_view text, std::string_view option) {
  try {
    return config::parse_duration(text);
  } catch (const Error& error) {
    throw UsageError{fmt::format("{}: {}", option, error.what())};
  }
}

std::string to_text(std::chrono::nanoseconds span) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  if (count < 1'000) return fmt::format("{} ms", count);
  if (count < 120'000) {
    const auto tenths = static_cast<double>(count / 100);  // NOLINT(bugprone-integer-division): cut
    return fmt::format("{:.6g} s", tenths / 10.0);
  }
  return fmt::format("{} min", count / 60'000);
}

std::string at_most(std::chrono::nanoseconds span) {
  // In the steps in which a time is shown, see to_text.
  using Tenths = std::chrono::duration<std::int64_t, std::deci>;
  using namespace std::chrono_literals;
  if (span < 1s) return "at most " + to_text(std::chrono::ceil<std::chrono::milliseconds>(span));
  if (span < 119s) return "at most " + to_text(std::chrono::ceil<Tenths>(span));
  return "at most " + to_text(std::chrono::ceil<std::chrono::minutes>(span));
}

}  // namespace simba::cli
