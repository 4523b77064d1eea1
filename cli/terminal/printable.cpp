#include "cli/terminal/printable.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace simba::cli {

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  bool second_of_two = false;  // after 0xC2, where the C1 controls are
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = byte < 0x20 || byte == 0x7f;
    const bool late_control = second_of_two && byte >= 0x80 && byte < 0xa0;
    if (late_control) {
      shown.pop_back();
      shown += "\\xc2";
    }
    if (control || late_control) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
    second_of_two = byte == 0xc2;
  }
  return shown;
}

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

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view{"/-._~"}.find(c) != std::string_view::npos;
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace simba::cli
