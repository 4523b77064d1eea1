#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace simba::redis {

/// The name of a mutex's key and of the channel that tells of acquisitions: "simba:{m}". Everything
/// between the braces decides the slot in a cluster.
std::string lock_name(std::string_view mutex);

/// The key of its record: "simba:{m}:record".
std::string record_key(std::string_view mutex);

/// The channel on which a waiter is told to try again: "simba:{m}:<id>".
std::string waiter_channel(std::string_view mutex, std::string_view contender_id);

/// Our own channel that tells observers of releases: "simba:releases:{m}".
std::string releases_channel(std::string_view mutex);

/// The number of slots that a cluster divides its keys into.
inline constexpr std::uint16_t slot_count = 16'384;

/// The slot of a key or of a sharded channel. Where the key holds a `{` and later a `}` with
/// something between the first `{` and the first `}` after it, only that counts.
std::uint16_t slot_of(std::string_view key) noexcept;

}  // namespace simba::redis
