#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "redis/connection/connection.hpp"
#include "simba/core/error.hpp"
#include "simba/core/log.hpp"
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

/// Why `endpoint`, which a sentinel or a cluster node may have named, is not connected to: it is
/// not in `permitted_hosts`, or it would be sent the password unencrypted although nobody asked for
/// that. Empty: it may be.
std::optional<Error> refusal_to_connect(const ConnectionSettings& settings,
                                        const Endpoint& endpoint);

/// Checks the options and makes of them how to connect. Throws InvalidArgumentError naming the
/// value and what is allowed. A password for another host requires `tls.mode` to be set.
/// `log` is for the thread that calls `credentials`.
std::shared_ptr<const ConnectionSettings> checked_settings(
    const RedisOptions& options, std::shared_ptr<Logger> log = make_null_logger());

}  // namespace simba::redis
