#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace simba::config {

/// What a number without a unit is.
enum class WithoutUnit {
  refused,
  milliseconds,  ///< as in the YAML files of the JVM library
};

/// Reads `500ms`, `10s`, `2m`, `1h`, and `0`, which needs no unit. Throws Error of kind
/// `configuration`, which says what is allowed, for everything else: numbers without a unit,
/// fractions, signs, other units, and what does not fit.
std::chrono::milliseconds parse_duration(std::string_view text,
                                         WithoutUnit numbers = WithoutUnit::refused);

/// As above, with a `-` before it where it is negative.
std::chrono::milliseconds parse_signed_duration(std::string_view text,
                                                WithoutUnit numbers = WithoutUnit::refused);

/// In the largest unit that takes no fraction, so that `parse_signed_duration` reads the same.
std::string to_text(std::chrono::milliseconds duration);

}  // namespace simba::config
