#include "config/read/url.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/messages.hpp"
#include "core/host_list.hpp"
#include "core/text.hpp"

namespace simba::config {
namespace {

constexpr std::string_view jdbc = "jdbc:";
constexpr std::size_t longest_url = 16'384;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string_view without_jdbc(std::string_view text) {
  if (lower_case(text.substr(0, jdbc.size())) == jdbc) text.remove_prefix(jdbc.size());
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      refuse("% must be followed by two hexadecimal digits; write %25 for a literal %");
    }
    const int byte = high * 16 + low;
    if (byte == 0) refuse("%00 is not allowed");
    result.push_back(static_cast<char>(byte));
    i += 2;
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::vector<Parameter> parse_parameters(std::string_view text) {
  std::vector<Parameter> parameters;
  if (text.empty()) return parameters;
  for (const std::string_view part : split(text, '&')) {
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
    });
    if (!plain || equals == std::string_view::npos) {
      refuse("? must be followed by parameters, for example ?ttl=10s&transition=6s");
    }
    const auto twice = [&](const Parameter& other) { return other.name == name; };
    if (std::any_of(parameters.begin(), parameters.end(), twice)) {
      refuse(fmt::format("duplicate parameter \"{}\"", name));
    }
    parameters.push_back({std::string{name}, decoded(part.substr(equals + 1))});
  }
  return parameters;
}

[[noreturn]] void refuse_stray_character() {
  refuse(
      "in a user, a password or a value, the characters / ? # @ % : must be written as %2F %3F "
      "%23 %40 %25 %3A");
}

void parse_user(std::string_view text, Url& url) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view password = text.substr(std::min(colon + 1, text.size()));
  if (text.find('@') != std::string_view::npos || password.find(':') != std::string_view::npos) {
    refuse_stray_character();
  }
  url.user = decoded(text.substr(0, colon));
  if (colon < text.size()) url.password = Secret{decoded(password)};
}

void parse_authority(std::string_view text, Url& url) {
  const std::size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    parse_user(text.substr(0, at), url);
    text.remove_prefix(at + 1);
  }
  if (text.empty()) return;
  url.hosts = detail::parse_hosts(text);
  for (detail::HostPort& host : url.hosts) host.host = decoded(host.host);
}

void parse_after_hosts_scheme(std::string_view rest, Url& url) {
  if (!rest.starts_with("//")) {
    refuse(fmt::format("{}: must be followed by two slashes and a host, for example {}://host",
                       url.scheme, url.scheme));
  }
  rest.remove_prefix(2);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const bool strays =
      rest.find('@', end) != std::string_view::npos || rest.find('#') != std::string_view::npos;
  if (strays) refuse_stray_character();
  parse_authority(rest.substr(0, end), url);
  const std::size_t question = std::min(rest.find('?'), rest.size());
  std::string_view path = rest.substr(end, question - end);
  if (path.starts_with('/')) path.remove_prefix(1);
  if (!path.empty()) {
    for (const std::string_view step : split(path, '/')) url.steps.push_back(decoded(step));
  }
  url.parameters = parse_parameters(rest.substr(std::min(question + 1, rest.size())));
}

void parse_after_path_scheme(std::string_view rest, Url& url) {
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    if (!rest.empty() && rest.front() != '/' && rest.front() != '?') {
      refuse(fmt::format("a {}: URL has no host; write {}:PATH, or {}:///PATH for an absolute path",
                         url.scheme, url.scheme, url.scheme));
    }
  }
  const std::size_t question = std::min(rest.find('?'), rest.size());
  url.path = decoded(rest.substr(0, question));
  url.parameters = parse_parameters(rest.substr(std::min(question + 1, rest.size())));
}

}  // namespace

std::optional<std::string> Url::parameter(std::string_view name) const {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return parameter.value;
  }
  return std::nullopt;
}

std::optional<std::string> scheme_of(std::string_view text) {
  text = without_jdbc(text);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view scheme = text.substr(0, colon);
  const bool plain = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return is_alphanumeric(c) || c == '+' || c == '-' || c == '.';
  });
  return plain ? std::optional{lower_case(scheme)} : std::nullopt;
}

Url parse_url(std::string_view text, UrlForm form) {
  if (text.size() > longest_url) refuse("the URL is longer than 16 KiB");
  const auto scheme = scheme_of(text);
  if (!scheme) refuse("no scheme; for example sqlite:PATH or redis://host");
  Url url;
  url.scheme = *scheme;
  url.form = form;
  const std::string_view rest = without_jdbc(text).substr(scheme->size() + 1);
  if (form == UrlForm::hosts) {
    parse_after_hosts_scheme(rest, url);
  } else {
    parse_after_path_scheme(rest, url);
  }
  return url;
}

std::string to_text(const Url& url) {
  if (url.form == UrlForm::path) {
    const std::string path = shown(url.path);
    return fmt::format("{}:{}", url.scheme, path.substr(1, path.size() - 2));
  }
  std::string text = url.scheme + "://";
  if (!url.user.empty()) text += detail::percent_encoded(url.user);
  if (!url.password.empty()) text += ":***";
  if (!url.user.empty() || !url.password.empty()) text += '@';
  std::string hosts;
  for (const detail::HostPort& host : url.hosts) {
    if (!hosts.empty()) hosts += ',';
    hosts += detail::host_text(detail::percent_encoded(host.host, "-._~:"));
    if (host.port) hosts += fmt::format(":{}", *host.port);
  }
  text += hosts;
  for (const std::string& step : url.steps) text += "/" + detail::percent_encoded(step);
  return text;
}

void read_user(const Url& url, std::vector<Parameter>& parameters) {
  if (!url.user.empty()) parameters.push_back({"user", url.user});
  if (!url.password.empty()) parameters.push_back({"password", url.password.reveal()});
}

void read_port(const Url& url, std::string_view hosts, std::uint16_t usual_port,
               std::vector<Parameter>& parameters) {
  const bool silent =
      url.parameter(hosts) || std::any_of(url.hosts.begin(), url.hosts.end(),
                                          [](const detail::HostPort& host) { return !host.port; });
  if (silent && !url.parameter("port")) parameters.push_back({"port", std::to_string(usual_port)});
}

std::vector<Parameter> read_database_url(const Url& url, std::uint16_t usual_port) {
  std::vector<Parameter> parameters;
  read_user(url, parameters);
  if (url.hosts.size() > 1) {
    refuse(fmt::format("{}:// takes one host (got {})", url.scheme, url.hosts.size()));
  }
  for (const auto& host : url.hosts) {
    parameters.push_back({"host", host.host});
    if (host.port) parameters.push_back({"port", std::to_string(*host.port)});
  }
  read_port(url, "host", usual_port, parameters);
  if (url.steps.size() > 1) {
    refuse(fmt::format("the path of a {}:// URL must be the name of the database, for example /app",
                       url.scheme));
  }
  if (!url.steps.empty()) parameters.push_back({"database", url.steps.front()});
  return parameters;
}

std::string user_part(std::string_view user) {
  return user.empty() ? std::string{} : detail::percent_encoded(user) + "@";
}

}  // namespace simba::config
