#include "core/host_list.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstddef>
#include <netinet/in.h>

#include <fmt/format.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba::detail {
namespace {

bool in_host(char c) { return c > ' ' && c <= '~' && c != '[' && c != ']' && c != '@'; }

/// A zone may follow: `fe80::1%eth0`.
bool is_ipv6(std::string_view text) {
  const std::string address{text.substr(0, text.find('%'))};
  if (!std::all_of(text.begin(), text.end(), in_host)) return false;
  in6_addr parsed{};
  return ::inet_pton(AF_INET6, address.c_str(), &parsed) == 1;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

class HostParser {
 public:
  HostParser(std::string_view where, BareIpv6 bare_ipv6) : where_{where}, bare_ipv6_{bare_ipv6} {}

  HostPort parse(std::string_view text) const {
    if (text.starts_with('/')) {
      if (printable(text) != text) refuse_characters("a path");
      return {.host = std::string{text}};
    }
    if (bare_ipv6_ == BareIpv6::accepted && is_ipv6(text)) return {.host = std::string{text}};
    HostPort result;
    std::string_view rest;
    if (text.starts_with('[')) {
      const std::size_t end = text.find(']');
      if (end == std::string_view::npos) refuse("missing ']' after an IPv6 address");
      result.host = text.substr(1, end - 1);
      rest = text.substr(end + 1);
      if (!rest.empty() && rest.front() != ':')
        refuse("only a port may follow an address in brackets");
    } else {
      const std::size_t colon = std::min(text.find(':'), text.size());
      if (text.find(':', std::min(colon + 1, text.size())) != std::string_view::npos) {
        refuse("a host contains several colons; write an IPv6 address in brackets");
      }
      result.host = text.substr(0, colon);
      rest = text.substr(colon);
    }
    if (result.host.empty()) refuse("empty host");
    if (!std::all_of(result.host.begin(), result.host.end(), in_host)) {
      refuse_characters("a name or an address");
    }
    if (!rest.empty()) result.port = parse_port(rest.substr(1));
    return result;
  }

 private:
  std::uint16_t parse_port(std::string_view text) const {
    const auto port = parse_number<std::uint16_t>(text);
    if (!port || *port == 0) {
      // Anything else may be a password that lacks its '@'.
      refuse(looks_like_port(text) ? fmt::format("port must be between 1 and 65535 (got {})", text)
                                   : "port must be a number between 1 and 65535");
    }
    return *port;
  }

  [[noreturn]] void refuse_characters(std::string_view what) const {
    refuse(fmt::format("a host contains characters that are not allowed in {}", what));
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw InvalidArgumentError{
        fmt::format("{}{}{}; expected hosts separated by commas, each with an optional port, for "
                    "example db1,db2:7000,[::1]:7000",
                    where_, where_.empty() ? "" : ": ", what)};
  }

  std::string_view where_;
  BareIpv6 bare_ipv6_;
};

}  // namespace

std::vector<HostPort> parse_hosts(std::string_view text, std::string_view where,
                                  BareIpv6 bare_ipv6) {
  const HostParser parser{where, bare_ipv6};
  std::vector<HostPort> hosts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    hosts.push_back(parser.parse(trimmed(text.substr(at, end - at))));
    at = end + 1;
  }
  return hosts;
}

std::string hosts_text(const std::vector<HostPort>& hosts, std::uint16_t default_port) {
  std::string text;
  for (const HostPort& host : hosts) {
    if (!text.empty()) text += ',';
    const bool is_path = host.host.starts_with('/');
    text += is_path ? host.host : host_text(host.host, host.port.value_or(default_port));
  }
  return text;
}

bool looks_like_port(std::string_view text) {
  constexpr std::size_t most_digits = 5;
  return !text.empty() && text.size() <= most_digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace simba::detail
