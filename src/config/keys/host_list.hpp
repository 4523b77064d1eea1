#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simba::config {

struct HostPort {
  std::string host{};  ///< without brackets
  std::optional<std::uint16_t> port{};

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// Parses `h1,h2:6379,[::1]:6379`. Throws Error of kind `configuration`; its text quotes nothing
/// but a numeric port, since the rest may be a password in the wrong place.
std::vector<HostPort> parse_hosts(std::string_view text);

/// The same in words that `parse_hosts` reads; a host without a port gets this one.
std::string to_text(const std::vector<HostPort>& hosts, std::uint16_t default_port);

}  // namespace simba::config
