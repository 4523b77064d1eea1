#include "core/host_address.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>

namespace simba::detail {
namespace {

/// The address as its family declares it. `sockaddr` is only a header, so it is copied, not cast.
template <typename Address>
Address address_of(const ifaddrs& interface) noexcept {
  Address address{};
  std::memcpy(&address, interface.ifa_addr, sizeof address);
  return address;
}

std::string ipv4(const ifaddrs& interface) {
  const in_addr address = address_of<sockaddr_in>(interface).sin_addr;
  const auto value = ntohl(address.s_addr);
  if (value == INADDR_ANY || (value >> 24U) == IN_LOOPBACKNET) return {};
  std::array<char, INET_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET, &address, text.data(), text.size());
}

std::string ipv6(const ifaddrs& interface) {
  const in6_addr address = address_of<sockaddr_in6>(interface).sin6_addr;
  if (IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_LOOPBACK(&address) ||
      IN6_IS_ADDR_LINKLOCAL(&address)) {
    return {};
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, &address, text.data(), text.size());
}

}  // namespace

std::string pick_address(const ifaddrs* interfaces) {
  std::string first_ipv6;
  for (const ifaddrs* next = interfaces; next != nullptr; next = next->ifa_next) {
    const bool usable = next->ifa_addr != nullptr && (next->ifa_flags & IFF_UP) != 0 &&
                        (next->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable) continue;
    if (next->ifa_addr->sa_family == AF_INET) {
      if (auto address = ipv4(*next); !address.empty()) return address;
    } else if (next->ifa_addr->sa_family == AF_INET6 && first_ipv6.empty()) {
      first_ipv6 = ipv6(*next);
    }
  }
  return first_ipv6.empty() ? "127.0.0.1" : first_ipv6;
}

std::string host_address() {
  ifaddrs* interfaces = nullptr;
  if (::getifaddrs(&interfaces) != 0) interfaces = nullptr;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{interfaces, &::freeifaddrs};
  return pick_address(interfaces);
}

}  // namespace simba::detail
