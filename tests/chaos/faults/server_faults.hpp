#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "chaos/faults/fault.hpp"

namespace simba::chaos {

/// Kill and stop with a start later, and pauses shorter and longer than the lease, of the server
/// with this role, which is called `name`. It is down for `longest` at most.
std::vector<FaultKind> server_faults(const std::string& name, const std::string& role,
                                     std::chrono::milliseconds lease,
                                     std::chrono::milliseconds longest);

/// The same of the server that matters most: its kill and its long pause are basic.
std::vector<FaultKind> main_server_faults(const std::string& name, const std::string& role,
                                          std::chrono::milliseconds lease,
                                          std::chrono::milliseconds longest);

/// The server with this role and the others do not reach each other, see `Servers::ways_to`, but
/// contenders reach all.
FaultKind cut_off_from_servers(const std::string& name, const std::string& role,
                               std::chrono::milliseconds lease);

/// The servers' wall clock runs too fast or too slow.
FaultKind server_wall_clock_slewed(std::chrono::milliseconds lease, int ppm);

/// The servers' steady clocks run too fast or too slow.
FaultKind server_steady_clock_slewed(std::chrono::milliseconds lease, int ppm);

/// The servers' wall clock is set back, and stays so. It lasts until a lease that was written
/// before is over.
FaultKind server_wall_clock_set_back(std::chrono::milliseconds lease);

/// The servers' wall clock is set forward by a lease, and stays so.
FaultKind server_wall_clock_set_forward(std::chrono::milliseconds lease);

/// The servers' wall clock is set by hours, and back again: for those that do not use it.
FaultKind server_wall_clock_set(std::chrono::milliseconds lease);

/// `Servers::act`.
FaultKind servers_act(std::string name);

}  // namespace simba::chaos
