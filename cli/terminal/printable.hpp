#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace simba::cli {

/// The text with all that steers a terminal written out, e.g. `\x1b`. Names in a store are whatever
/// others have put there.
std::string printable(std::string_view text);

/// How many places it takes on a terminal, if each character takes one.
std::size_t width(std::string_view text) noexcept;

/// With blanks after it up to `places`.
std::string padded(std::string_view text, std::size_t places);

/// As the path of a URL has it: whatever is not a letter, a digit or one of /-._~ is written as
/// %41.
std::string percent_encoded(std::string_view text);

}  // namespace simba::cli
