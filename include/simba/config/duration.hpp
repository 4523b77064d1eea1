#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace simba::config {

/// How to treat a number without a unit.
enum class WithoutUnit {
  refused,
  milliseconds,  ///< as in the YAML files of the JVM library
};

/// Parses `500ms`, `10s`, `2m`, `1h`, and `0`, which needs no unit. Throws Error of kind
/// `configuration` for anything else: numbers without a unit, fractions, signs, other units, and
/// overflow.
std::chrono::milliseconds parse_duration(std::string_view text,
                                         WithoutUnit numbers = WithoutUnit::refused);

/// Like `parse_duration`, but also accepts a leading `-`.
std::chrono::milliseconds parse_signed_duration(std::string_view text,
                                                WithoutUnit numbers = WithoutUnit::refused);

/// Formats in the largest unit without a fraction; `parse_signed_duration` parses it back.
std::string to_text(std::chrono::milliseconds duration);

}  // namespace simba::config
