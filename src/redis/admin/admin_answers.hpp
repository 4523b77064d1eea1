#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/protocol/reply.hpp"
#include "simba/core/time.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/engine/store_admin.hpp"
#include "simba/redis/redis_options.hpp"

/// Reads what servers answer to the commands of tools, and believes none of it.
namespace simba::redis {

/// The value of "<key>:" in the lines of INFO and its like, printable; empty if it is not there.
std::string value_in(std::string_view info, std::string_view key);

/// How often a command was called, by INFO commandstats; empty if the text is none.
std::optional<std::uint64_t> calls_in(std::string_view stats, std::string_view command);

/// A server by its own words.
struct ServerVersion {
  std::string product{};
  std::string version{};  ///< empty: it does not say
};

/// The product in the lines of INFO: Redis, or one that also says which version of Redis it is
/// like.
ServerVersion server_in(std::string_view info);

/// Whether a version is older than Redis 6.2.
bool is_too_old(std::string_view version);

/// The reply to TIME; empty if it is none.
std::optional<StoreTime> server_time(const Reply& reply);

/// The replicas in a master's reply to ROLE.
std::vector<Endpoint> replicas_in(const Reply& role);

/// By how much a clock is certainly ahead of another (negative: behind), which was read before and
/// after it.
std::chrono::milliseconds ahead_of(StoreTime before, StoreTime clock, StoreTime after);

struct AclUser {
  std::string name{};                ///< empty: not an enabled user
  bool uses_every_channel = false;   ///< publishes or listens
  bool only_reads_requests = false;  ///< by MONITOR or SLOWLOG; has no rights to our keys
};

/// The user in a line of ACL LIST.
AclUser acl_user_in(std::string_view line);

/// The mutex that a key belongs to; empty: to none, or not as the key that we look for.
std::string_view mutex_of(std::string_view key);

/// The reply to a script. Throws Error if the server refuses, or the reply makes no sense.
engine::LeaseRecord record_in(const Reply& reply, const std::string& mutex);

/// The replies to the script that retrieves and to HGET of the last token. Throws as `record_in`.
engine::MutexEntry entry_in(std::span<const Reply, 2> replies, const std::string& mutex);

/// The reply to ZRANGE of a line with its scores; empty if it is none, or the server refuses.
std::optional<std::vector<engine::WaitingContender>> waiting_in(const Reply& reply);

}  // namespace simba::redis
