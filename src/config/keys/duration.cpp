#include "simba/config/duration.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "config/messages.hpp"
#include "core/text.hpp"

namespace simba::config {
namespace {

using std::chrono::milliseconds;

struct Unit {
  std::string_view name;
  std::int64_t in_ms;
};

// The largest first.
constexpr Unit units[] = {{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};

[[noreturn]] void refuse_duration(std::string_view text, std::string_view why) {
  refuse(fmt::format(
      "{} {}; expected a whole number with ms, s, m or h, for example 500ms, 10s, 2m, 1h",
      shown(text), why));
}

std::optional<std::int64_t> factor_of(std::string_view unit) {
  for (const Unit& known : units) {
    if (known.name == unit) return known.in_ms;
  }
  return std::nullopt;
}

/// `whole` is what messages show.
milliseconds parse(std::string_view text, std::string_view whole, WithoutUnit numbers) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0) refuse_duration(whole, "is not a duration");
  const auto number = detail::parse_number<std::int64_t>(text.substr(0, digits));
  if (!number) refuse_duration(whole, "is too long");
  const std::string_view unit = text.substr(digits);
  if (unit.empty() && *number != 0 && numbers == WithoutUnit::refused) {
    refuse(fmt::format("{0} has no unit: did you mean {1}s or {1}ms?", shown(whole), whole));
  }
  const auto factor = unit.empty() ? 1 : factor_of(unit);
  if (!factor) refuse_duration(whole, "is not a duration");
  // It is counted in nanoseconds, and added to moments, in what uses it.
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1'000'000 / 4;
  if (*number > most / *factor) refuse_duration(whole, "is too long");
  return milliseconds{*number * *factor};
}

}  // namespace

milliseconds parse_duration(std::string_view text, WithoutUnit numbers) {
  if (text.starts_with('-')) refuse_duration(text, "is negative");
  return parse(text, text, numbers);
}

milliseconds parse_signed_duration(std::string_view text, WithoutUnit numbers) {
  return text.starts_with('-') ? -parse(text.substr(1), text, numbers) : parse(text, text, numbers);
}

std::string to_text(milliseconds duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  for (const Unit& unit : units) {
    if (count % unit.in_ms == 0) return fmt::format("{}{}", count / unit.in_ms, unit.name);
  }
  return fmt::format("{}ms", count);
}

}  // namespace simba::config
