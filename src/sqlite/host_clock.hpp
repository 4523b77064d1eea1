#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace simba::sqlite {

/// The clock that all processes of a host share, containers with a time namespace included.
struct HostClock {
  std::string boot_id;                                    ///< another one after each boot
  std::function<std::chrono::milliseconds()> since_boot;  ///< never jumps, counts while suspended
};

/// The clock of this host. Throws Error (unsupported) where the system does not tell its boot id.
HostClock make_host_clock();

}  // namespace simba::sqlite
