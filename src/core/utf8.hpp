#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace simba::detail {

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;  ///< in bytes
};

/// The first code point of `text`, or nothing where the bytes are not well-formed UTF-8: overlong
/// forms, surrogates and values above U+10FFFF are not. `text` is not empty.
std::optional<CodePoint> first_code_point(std::string_view text) noexcept;

}  // namespace simba::detail
