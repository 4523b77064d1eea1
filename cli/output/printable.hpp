#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/text.hpp"

namespace simba::cli {

using detail::printable;

/// How many places it takes on a terminal, if each character takes one.
std::size_t width(std::string_view text) noexcept;

/// With blanks after it up to `places`.
std::string padded(std::string_view text, std::size_t places);

}  // namespace simba::cli
