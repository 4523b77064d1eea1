#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "redis/connection/connection.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// Whether a text that a server gave can be a host name or an address: something that is printable,
/// has no space and is not too long.
inline bool can_be_host(std::string_view text) noexcept {
  constexpr std::size_t longest = 255;
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

inline bool can_be_port(std::int64_t number) noexcept { return number >= 1 && number <= 65'535; }

/// Whether `endpoint` may be connected to.
bool is_permitted(const ConnectionSettings& settings, const Endpoint& endpoint);

/// Checks the options and makes of them how to connect. Throws InvalidArgumentError naming the
/// value and what is allowed.
std::shared_ptr<const ConnectionSettings> checked_settings(const RedisOptions& options);

}  // namespace simba::redis
