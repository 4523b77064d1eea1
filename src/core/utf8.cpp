#include "core/utf8.hpp"

namespace simba::detail {
namespace {

struct Lead {
  std::size_t size;
  char32_t bits;
  char32_t least;  // what needs this many bytes; less is overlong
};

std::optional<Lead> lead_of(unsigned char byte) noexcept {
  if (byte < 0x80) return Lead{1, byte, 0};
  if ((byte & 0xE0U) == 0xC0U) return Lead{2, byte & 0x1FU, 0x80};
  if ((byte & 0xF0U) == 0xE0U) return Lead{3, byte & 0x0FU, 0x800};
  if ((byte & 0xF8U) == 0xF0U) return Lead{4, byte & 0x07U, 0x10000};
  return std::nullopt;
}

}  // namespace

std::optional<CodePoint> first_code_point(std::string_view text) noexcept {
  const auto lead = lead_of(static_cast<unsigned char>(text.front()));
  if (!lead || text.size() < lead->size) return std::nullopt;
  char32_t value = lead->bits;
  for (const char next : text.substr(1, lead->size - 1)) {
    const auto byte = static_cast<unsigned char>(next);
    if ((byte & 0xC0U) != 0x80U) return std::nullopt;
    value = (value << 6U) | (byte & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < lead->least || surrogate || value > 0x10FFFF) return std::nullopt;
  return CodePoint{value, lead->size};
}

}  // namespace simba::detail
