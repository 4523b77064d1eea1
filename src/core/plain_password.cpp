#include "core/plain_password.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <netinet/in.h>
#include <string>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::detail {
namespace {

bool is_localhost(std::string_view host) noexcept {
  constexpr std::string_view name = "localhost";
  return std::equal(host.begin(), host.end(), name.begin(), name.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

bool is_loopback(const std::string& host) noexcept {
  constexpr unsigned char loopback_net = 127;
  std::array<unsigned char, 4> four{};
  if (::inet_pton(AF_INET, host.c_str(), four.data()) == 1) return four[0] == loopback_net;
  in6_addr six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&six) ||
         (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == loopback_net);
}

}  // namespace

bool is_this_host(std::string_view host) noexcept {
  constexpr std::size_t longest_address = 64;
  if (host.starts_with('/') || is_localhost(host)) return true;
  return host.size() <= longest_address && is_loopback(std::string{host});
}

void check_plain_password(TlsMode mode, std::string_view host, const Secret& password,
                          const CredentialsSource& source) {
  if (mode != TlsMode::unset || (password.empty() && !source) || is_this_host(host)) return;
  throw InvalidArgumentError{fmt::format(
      "the password would be used on an unencrypted connection to host {}; set tls.mode to verify, "
      "or to off if you trust the network",
      host)};
}

}  // namespace simba::detail
