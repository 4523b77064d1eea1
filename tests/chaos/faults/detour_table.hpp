#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace simba::chaos {

/// Where connections to ports of 127.0.0.1 go instead. What libsimba-detour.so reads from the file
/// that the variable SIMBA_DETOURS names.
struct DetourTable {
  static constexpr std::size_t size = 32;

  /// Each 0, or from * 65536 + to. The first that fits counts.
  std::atomic<std::uint32_t> ways[size];  // NOLINT(*-avoid-c-arrays): zero in a new file

  /// False: it is full.
  bool add(std::uint16_t from, std::uint16_t to) noexcept {
    for (auto& way : ways) {
      if (way.load() == 0) {
        way.store((std::uint32_t{from} << 16U) | to);
        return true;
      }
    }
    return false;
  }

  /// The port itself where there is no detour.
  std::uint16_t find(std::uint16_t port) const noexcept {
    for (const auto& way : ways) {
      if (const auto entry = way.load(); entry >> 16U == port && port != 0) {
        return static_cast<std::uint16_t>(entry & 0xFFFFU);
      }
    }
    return port;
  }
};

}  // namespace simba::chaos
