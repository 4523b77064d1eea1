#include "cli/output/printable.hpp"

#include <algorithm>

namespace simba::cli {

std::size_t width(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

std::string padded(std::string_view text, std::size_t places) {
  std::string whole{text};
  const std::size_t taken = width(text);
  if (taken < places) whole.append(places - taken, ' ');
  return whole;
}

}  // namespace simba::cli
