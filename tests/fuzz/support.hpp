#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/text.hpp"

/// What the fuzz targets share. A property that does not hold ends the process: that is a find.
namespace simba::fuzz {

inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "this does not hold: %s\n", what);
  std::abort();
}

/// Whether it can be written to a log as it is. core_name_fuzz checks what that means.
inline bool prints(std::string_view text) { return detail::printable(text) == text; }

/// The same where other bytes above ASCII may be in it: no control characters.
inline bool stays_on_its_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == '\x7F'; });
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto first = detail::first_code_point(text);
    if (!first) return false;
    text.remove_prefix(first->size);
  }
  return true;
}

/// The parts of a text between separators: one more than there are separators.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// Takes the first eight bytes away; bytes that are missing are zero.
inline std::int64_t take_number(std::string_view& bytes) {
  std::int64_t number = 0;
  const std::size_t size = std::min(bytes.size(), sizeof number);
  std::memcpy(&number, bytes.data(), size);
  bytes.remove_prefix(size);
  return number;
}

}  // namespace simba::fuzz
