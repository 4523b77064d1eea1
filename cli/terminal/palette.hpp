#pragma once

#include <string>
#include <string_view>

#include "cli/terminal/output.hpp"

namespace simba::cli {

enum class Colour { plain, bold, dim, red, green, yellow, cyan };

/// Colours where the output may have them, and nothing where not. A value.
class Palette {
 public:
  explicit Palette(const Output& output) : on_{output.colours()} {}

  std::string paint(Colour colour, std::string_view text) const;

 private:
  bool on_ = false;
};

}  // namespace simba::cli
