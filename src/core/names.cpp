#include "simba/core/names.hpp"

#include <string>

#include <fmt/format.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba {
namespace {

bool is_white_space(char32_t c) noexcept {
  return c == U' ' || (c >= U'\t' && c <= U'\r') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_blank(std::string_view value) noexcept {
  while (!value.empty()) {
    const auto c = detail::first_code_point(value);
    if (!c || !is_white_space(c->value)) return false;
    value.remove_prefix(c->size);
  }
  return true;
}

std::string shown(std::string_view value) {
  constexpr std::size_t longest = 80;
  return fmt::format("\"{}\"", detail::excerpt(value, longest));
}

}  // namespace

void check_not_blank(std::string_view what, std::string_view value) {
  if (is_blank(value)) {
    throw InvalidArgumentError{fmt::format("{} must not be blank (got {})", what, shown(value))};
  }
}

void check_name(std::string_view what, std::string_view value, std::size_t limit) {
  check_not_blank(what, value);
  std::size_t length = 0;
  for (std::size_t at = 0; at < value.size(); ++length) {
    const auto c = detail::first_code_point(value.substr(at));
    if (!c) {
      throw InvalidArgumentError{
          fmt::format("{} {} is not valid UTF-8 at byte {}", what, shown(value), at)};
    }
    if (c->value == 0) {
      throw InvalidArgumentError{
          fmt::format("{} {} contains a NUL character at byte {}", what, shown(value), at)};
    }
    at += c->size;
  }
  if (length > limit) {
    throw InvalidArgumentError{fmt::format("{} {} is too long: {} characters, at most {} allowed",
                                           what, shown(value), length, limit)};
  }
}

}  // namespace simba
