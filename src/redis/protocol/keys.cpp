#include "redis/protocol/keys.hpp"

#include <array>
#include <cstddef>

namespace simba::redis {
namespace {

std::string joined(std::string_view a, std::string_view b, std::string_view c,
                   std::string_view d = {}) {
  std::string text;
  text.reserve(a.size() + b.size() + c.size() + d.size());
  return text.append(a).append(b).append(c).append(d);
}

}  // namespace

std::string lock_name(std::string_view mutex) { return joined("simba:{", mutex, "}"); }

std::string record_key(std::string_view mutex) { return joined("simba:{", mutex, "}:record"); }

std::string waiter_channel(std::string_view mutex, std::string_view contender_id) {
  return joined("simba:{", mutex, "}:", contender_id);
}

std::string releases_channel(std::string_view mutex) {
  return joined("simba:releases:{", mutex, "}");
}

namespace {

/// What each value of a byte adds to a CRC16 with the polynomial 0x1021 (XMODEM).
constexpr std::array<std::uint16_t, 256> make_crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    }
    table[byte] = static_cast<std::uint16_t>(crc & 0xFFFFU);
  }
  return table;
}

constexpr auto crc_table = make_crc_table();

std::uint16_t crc16(std::string_view bytes) noexcept {
  std::uint32_t crc = 0;
  for (const char c : bytes) {
    const std::size_t index = ((crc >> 8U) ^ static_cast<unsigned char>(c)) & 0xFFU;
    crc = ((crc << 8U) ^ crc_table[index]) & 0xFFFFU;
  }
  return static_cast<std::uint16_t>(crc);
}

std::string_view hashed_part(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace

std::uint16_t slot_of(std::string_view key) noexcept {
  return static_cast<std::uint16_t>(crc16(hashed_part(key)) % slot_count);
}

}  // namespace simba::redis
