#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace simba::config {

/// Reads `500ms`, `10s`, `2m`, `1h`, or a plain number of milliseconds. Throws Error of kind
/// `configuration`, which says what is allowed, for everything else: fractions, signs, other units,
/// and what does not fit.
std::chrono::milliseconds parse_duration(std::string_view text);

/// As above, with a `-` before it where it is negative.
std::chrono::milliseconds parse_signed_duration(std::string_view text);

/// In the largest unit that takes no fraction, so that `parse_signed_duration` reads the same.
std::string to_text(std::chrono::milliseconds duration);

}  // namespace simba::config
