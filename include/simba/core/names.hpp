#pragma once

#include <cstddef>
#include <string_view>

namespace simba {

/// How long the two names of the protocol may be, in characters (Unicode code points).
struct NameLimits {
  std::size_t mutex = 66;
  std::size_t contender_id = 128;
};

/// Throws InvalidArgumentError unless `value` is valid UTF-8, not blank, free of NUL and at most
/// `limit` characters long. `what` names the value in the message, e.g. "mutex name".
void check_name(std::string_view what, std::string_view value, std::size_t limit);

/// Throws InvalidArgumentError if `value` is empty or consists of white space.
void check_not_blank(std::string_view what, std::string_view value);

}  // namespace simba
