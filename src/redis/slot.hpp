#pragma once

#include <cstdint>
#include <string_view>

namespace simba::redis {

/// The number of slots that a cluster divides its keys into.
inline constexpr std::uint16_t slot_count = 16'384;

/// The slot of a key or of a sharded channel. Where the key holds a `{` and later a `}` with
/// something between the first `{` and the first `}` after it, only that counts.
std::uint16_t slot_of(std::string_view key) noexcept;

}  // namespace simba::redis
