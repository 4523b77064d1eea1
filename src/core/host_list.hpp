#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simba::detail {

struct HostPort {
  std::string host{};  ///< without brackets
  std::optional<std::uint16_t> port{};

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// Whether an IPv6 address may be without brackets. It may where ports have an option of their own:
/// then `::1:5432` is an address without a port.
enum class BareIpv6 { refused, accepted };

/// Parses `h1,h2:6379,[::1]:6379`; what begins with `/` is the directory of a Unix socket, and has
/// no port. Throws InvalidArgumentError, which begins with `where` and quotes nothing but a numeric
/// port, since the rest may be a password in the wrong place.
std::vector<HostPort> parse_hosts(std::string_view text, std::string_view where = {},
                                  BareIpv6 bare_ipv6 = BareIpv6::refused);

/// Text that `parse_hosts` reads as the same hosts; one without a port gets `default_port`.
std::string hosts_text(const std::vector<HostPort>& hosts, std::uint16_t default_port);

/// One to five digits: safe to quote in a message, unlike what may be a password.
bool looks_like_port(std::string_view text);

}  // namespace simba::detail
