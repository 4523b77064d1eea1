#include "cli/output/table.hpp"

#include <algorithm>

#include "cli/output/printable.hpp"

namespace simba::cli {

std::string Table::text(const Palette& palette) const {
  std::vector<std::size_t> places;
  for (std::size_t column = 0; column < titles_.size(); ++column) {
    std::size_t widest = width(titles_[column]);
    for (const auto& row : rows_) widest = std::max(widest, width(row.at(column).text));
    places.push_back(widest);
  }
  const auto cell = [&](std::size_t column, const std::string& text, Colour colour) {
    // The last column is not padded, so that no line ends with blanks.
    const bool last = column + 1 == titles_.size();
    return palette.paint(colour, last ? text : padded(text, places[column])) + (last ? "" : "  ");
  };
  std::string lines;
  for (std::size_t column = 0; column < titles_.size(); ++column) {
    lines += cell(column, titles_[column], Colour::bold);
  }
  for (const auto& row : rows_) {
    lines += '\n';
    for (std::size_t column = 0; column < titles_.size(); ++column) {
      lines += cell(column, row.at(column).text, row.at(column).colour);
    }
  }
  return lines;
}

}  // namespace simba::cli
