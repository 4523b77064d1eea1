#include "redis/protocol/printable.hpp"

#include <algorithm>

namespace simba::redis {

std::string printable(std::string_view text) {
  std::string result{text.substr(0, longest_shown)};
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (text.size() > longest_shown) result += "...";
  return result;
}

}  // namespace simba::redis
