#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace simba::cli {

/// `500ms`, `10s`, `2m`, `1h` or `0`. `option` names it in the message. Throws UsageError.
std::chrono::milliseconds parse_duration(std::string_view text, std::string_view option);

/// For people: "500 ms", "1.5 s", "2 min".
std::string to_text(std::chrono::nanoseconds span);

/// "at most 19.4 s": for people, never less than it is.
std::string at_most(std::chrono::nanoseconds span);

}  // namespace simba::cli
