#include "simba/client/contender_id.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba {

void ContenderId::assign(std::string_view text) {
  if (text.size() > capacity) {
    throw InvalidArgumentError{fmt::format("contender id is too long: {} bytes, at most {} allowed",
                                           text.size(), capacity)};
  }
  std::copy(text.begin(), text.end(), text_.begin());
  size_ = text.size();
}

}  // namespace simba
