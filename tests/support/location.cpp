#include "support/location.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace simba::support {

namespace {

constexpr char separator = ';';

void append(std::string& text, std::string_view key, std::string_view value) {
  if (value.find(separator) != std::string_view::npos) {
    throw std::invalid_argument{fmt::format("the {} of a location must not hold ';'", key)};
  }
  fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : ";", key, value);
}

std::map<std::string, std::string, std::less<>> parse_pairs(std::string_view text) {
  std::map<std::string, std::string, std::less<>> pairs;
  while (!text.empty()) {
    const auto pair = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos) {
      throw std::invalid_argument{fmt::format("'{}' is no part of a location", pair)};
    }
    pairs.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return pairs;
}

std::uint16_t parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument{fmt::format("'{}' is no port", text)};
  }
  return port;
}

std::vector<std::uint16_t> parse_ports(std::string_view text) {
  std::vector<std::uint16_t> ports;
  while (!text.empty()) {
    const auto one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    ports.push_back(parse_port(one));
  }
  return ports;
}

}  // namespace

std::string to_string(const Location& location) {
  std::string text;
  append(text, "host", location.host);
  append(text, "port", std::to_string(location.port));
  append(text, "user", location.user);
  append(text, "password", location.password);
  append(text, "database", location.database);
  append(text, "socket", location.socket);
  append(text, "certificates", location.certificates);
  append(text, "ports", fmt::format("{}", fmt::join(location.ports, ",")));
  append(text, "master_name", location.master_name);
  return text;
}

Location parse_location(std::string_view text) {
  const auto pairs = parse_pairs(text);
  const auto value = [&](std::string_view key) {
    const auto found = pairs.find(key);
    if (found == pairs.end()) {
      throw std::invalid_argument{fmt::format("a location without {}: '{}'", key, text)};
    }
    return found->second;
  };
  Location location;
  location.host = value("host");
  location.user = value("user");
  location.password = value("password");
  location.database = value("database");
  location.socket = value("socket");
  location.certificates = value("certificates");
  location.port = parse_port(value("port"));
  location.ports = parse_ports(value("ports"));
  location.master_name = value("master_name");
  return location;
}

}  // namespace simba::support
