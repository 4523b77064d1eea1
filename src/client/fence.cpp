#include "simba/client/fence.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::fence {

namespace {

bool may_be_in_a_column(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

}  // namespace

Sql sql(FencingToken token, std::string_view column) {
  if (token == 0) {
    throw InvalidArgumentError{"a fenced write needs a fencing token (got 0: there is no lock)"};
  }
  if (token > static_cast<FencingToken>(std::numeric_limits<std::int64_t>::max())) {
    throw InvalidArgumentError{fmt::format("the fencing token must be at most {} (got {})",
                                           std::numeric_limits<std::int64_t>::max(), token)};
  }
  if (column.empty() || !std::all_of(column.begin(), column.end(), may_be_in_a_column)) {
    throw InvalidArgumentError{
        fmt::format("a column must consist of letters, digits, '_' and '.' (got \"{}\")", column)};
  }
  return {.set = fmt::format("{} = {}", column, token),
          .where = fmt::format("{} <= {}", column, token)};
}

}  // namespace simba::fence
