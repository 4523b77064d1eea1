#include "cli/terminal/palette.hpp"

#include <fmt/format.h>

namespace simba::cli {
namespace {

int code_of(Colour colour) noexcept {
  switch (colour) {
    case Colour::bold:
      return 1;
    case Colour::dim:
      return 2;
    case Colour::red:
      return 31;
    case Colour::green:
      return 32;
    case Colour::yellow:
      return 33;
    case Colour::cyan:
      return 36;
    case Colour::plain:
      break;
  }
  return 0;
}

}  // namespace

std::string Palette::paint(Colour colour, std::string_view text) const {
  if (!on_ || colour == Colour::plain || text.empty()) return std::string{text};
  return fmt::format("\033[{}m{}\033[0m", code_of(colour), text);
}

}  // namespace simba::cli
