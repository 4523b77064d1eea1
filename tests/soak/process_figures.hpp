#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

namespace simba::soak {

/// What /proc tells of a process.
struct ProcessFigures {
  std::int64_t memory = 0;  ///< resident, in KiB
  std::int64_t threads = 0;
  std::int64_t descriptors = 0;
};

/// Empty where there is no such process, or we may not look.
std::optional<ProcessFigures> figures_of(pid_t process);

/// The process that listens at this TCP port; empty: there is none, or we may not look.
std::optional<pid_t> find_listener(std::uint16_t port);

/// How many TCP connections a server at this port has, by the kernel's account.
std::int64_t connections_to(std::uint16_t port);

}  // namespace simba::soak
