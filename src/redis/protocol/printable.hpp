#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace simba::redis {

/// How much of a text that came over the wire is shown.
inline constexpr std::size_t longest_shown = 200;

/// A text that came over the wire, for messages and the log: cut at `longest_shown` bytes ("..."
/// follows then), with "?" for each byte that is not printable ASCII.
std::string printable(std::string_view text);

}  // namespace simba::redis
