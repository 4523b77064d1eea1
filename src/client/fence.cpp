#include "simba/client/fence.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "simba/core/error.hpp"
#include "simba/core/names.hpp"

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

std::string redis(std::string_view script) {
  check_not_blank("script", script);
  if (script.starts_with("#!")) {
    throw InvalidArgumentError{
        "a fenced script must not begin with \"#!\": the check of the token comes before it"};
  }
  // Compared as text, since the numbers of Lua are exact up to 2^53 only.
  constexpr std::string_view check = R"lua(do
  local token, seen = ARGV[#ARGV], redis.call('GET', KEYS[#KEYS]) or '0'
  if not string.find(token, '^[1-9]%d*$') then
    return redis.error_reply('ERR the last argument must be the fencing token')
  end
  if #token < #seen or (#token == #seen and token < seen) then
    return redis.error_reply('FENCED a newer owner has written, with token ' .. seen)
  end
  redis.call('SET', KEYS[#KEYS], token)
end
)lua";
  return std::string{check}.append(script);
}

}  // namespace simba::fence
