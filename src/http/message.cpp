#include "http/message.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <utility>

#include "core/text.hpp"

namespace simba::http {
namespace {

constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_ignoring_case(std::string_view one, std::string_view other) noexcept {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return to_lower(a) == to_lower(b); });
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Takes the text up to the next `separator` off the front of `rest`.
std::string_view next_piece(std::string_view& rest, char separator) noexcept {
  const auto end = std::min(rest.find(separator), rest.size());
  const auto piece = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return piece;
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::string_view Request::header(std::string_view name) const noexcept {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const Header& header) {
    return equal_ignoring_case(header.name, name);
  });
  return found == headers.end() ? std::string_view{} : found->value;
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    std::string_view value = next_piece(rest, '&');
    const auto key = next_piece(value, '=');
    if (percent_decoded(key) != name) continue;
    std::string text{value};
    std::replace(text.begin(), text.end(), '+', ' ');
    return percent_decoded(text);
  }
  return std::nullopt;
}

std::string_view Request::cookie(std::string_view name) const noexcept {
  std::string_view rest = header("Cookie");
  while (!rest.empty()) {
    std::string_view value = trimmed(next_piece(rest, ';'));
    if (next_piece(value, '=') == name) return value;
  }
  return {};
}

Response text_response(int status, std::string_view text) {
  return {.status = status, .body = std::string{text} + "\n"};
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    decoded += c;
  }
  return decoded;
}

bool equal_in_constant_time(std::string_view one, std::string_view other) noexcept {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const int differing = one[i] ^ other[i];
    difference |= static_cast<unsigned char>(differing);
  }
  const volatile unsigned result = difference;  // keeps the loop from ending early
  return result == 0;
}

std::string_view bearer_token(const Request& request) noexcept {
  std::string_view value = request.header("Authorization");
  if (!equal_ignoring_case(next_piece(value, ' '), "Bearer")) return {};
  return trimmed(value);
}

bool names_loopback(const Request& request) {
  std::string_view host = request.header("Host");
  if (host.empty()) return true;
  if (host.front() == '[') {
    const auto end = host.find(']');
    return end != std::string_view::npos && is_loopback_address(host.substr(1, end - 1));
  }
  host = host.substr(0, host.find(':'));
  return equal_ignoring_case(host, "localhost") || is_loopback_address(host);
}

bool is_loopback_address(std::string_view address) {
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  const std::string text{address};
  in_addr four{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  if (::inet_pton(AF_INET6, text.c_str(), &six) != 1) return false;
  if (IN6_IS_ADDR_LOOPBACK(&six) != 0) return true;
  return IN6_IS_ADDR_V4MAPPED(&six) != 0 && six.s6_addr[12] == 127;
}

}  // namespace simba::http
