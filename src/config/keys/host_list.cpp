#include "config/keys/host_list.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/messages.hpp"
#include "core/text.hpp"

namespace simba::config {
namespace {

[[noreturn]] void refuse_hosts(std::string_view what) {
  refuse(
      fmt::format("{}; expected hosts separated by commas, each with an optional port, for "
                  "example db1,db2:7000,[::1]:7000",
                  what));
}

std::uint16_t parse_port(std::string_view text) {
  const auto port = detail::parse_number<std::uint16_t>(text);
  if (!port || *port == 0) {
    // Anything else may be a password that lacks its '@'.
    refuse_hosts(looks_like_port(text)
                     ? fmt::format("port must be between 1 and 65535 (got {})", text)
                     : "port must be a number between 1 and 65535");
  }
  return *port;
}

bool in_host(char c) { return c > ' ' && c <= '~' && c != '[' && c != ']' && c != '@'; }

HostPort parse_host(std::string_view text) {
  HostPort result;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) refuse_hosts("missing ']' after an IPv6 address");
    result.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':')
      refuse_hosts("an address may be followed by a port only");
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    if (text.find(':', std::min(colon + 1, text.size())) != std::string_view::npos) {
      refuse_hosts("a host contains several colons; write an IPv6 address in brackets");
    }
    result.host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (result.host.empty()) refuse_hosts("empty host");
  if (!std::all_of(result.host.begin(), result.host.end(), in_host)) {
    refuse_hosts("a host contains characters that are not allowed in a name or an address");
  }
  if (!rest.empty()) result.port = parse_port(rest.substr(1));
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::vector<HostPort> parse_hosts(std::string_view text) {
  std::vector<HostPort> hosts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    hosts.push_back(parse_host(trimmed(text.substr(at, end - at))));
    at = end + 1;
  }
  return hosts;
}

std::string to_text(const std::vector<HostPort>& hosts, std::uint16_t default_port) {
  std::string text;
  for (const HostPort& host : hosts) {
    if (!text.empty()) text += ',';
    text += detail::host_text(host.host, host.port.value_or(default_port));
  }
  return text;
}

}  // namespace simba::config
