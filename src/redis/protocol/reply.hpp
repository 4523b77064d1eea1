#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simba::redis {

/// What a server says: a value of its protocol (RESP 2).
struct Reply {
  enum class Type { nil, string, status, error, integer, array };

  Type type = Type::nil;
  std::string text{};  ///< of a string, a status or an error
  std::int64_t integer = 0;
  std::vector<Reply> elements{};  ///< of an array

  bool is(Type wanted) const noexcept { return type == wanted; }

  friend bool operator==(const Reply&, const Reply&) = default;
};

}  // namespace simba::redis
