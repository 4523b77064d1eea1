#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <string>

namespace simba::sqlite {

/// The clock that all processes of a host share, containers with a time namespace included.
struct HostClock {
  std::string boot_id;                                    ///< another one after each boot
  std::function<std::chrono::milliseconds()> since_boot;  ///< never jumps, counts while suspended
};

/// How far CLOCK_BOOTTIME of a process is ahead of the host's, by the text of its
/// /proc/PID/timens_offsets; zero where that names no such clock. Throws Error (unsupported) where
/// no kernel would allow such an offset.
std::chrono::nanoseconds boot_time_offset(std::istream& offsets);

/// The clock of this host. Throws Error (unsupported) where the system does not tell its boot id.
HostClock make_host_clock();

}  // namespace simba::sqlite
