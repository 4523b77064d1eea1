#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/output/output.hpp"

namespace simba::cli {

/// Text in columns, as wide as they need to be. Used by one thread.
class Table {
 public:
  struct Cell {
    std::string text{};
    Colour colour = Colour::plain;
  };

  explicit Table(std::vector<std::string> titles) : titles_{std::move(titles)} {}

  /// One cell for each title.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  /// All lines, without a new line after the last.
  std::string text(const Palette& palette) const;

 private:
  std::vector<std::string> titles_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace simba::cli
