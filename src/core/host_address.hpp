#pragma once

#include <ifaddrs.h>
#include <string>

namespace simba::detail {

/// The first address in the list that others can reach: IPv4 before IPv6, of interfaces that are
/// up, neither loopback nor link-local IPv6. "127.0.0.1" where there is none.
std::string pick_address(const ifaddrs* interfaces);

/// `pick_address` of this host.
std::string host_address();

}  // namespace simba::detail
