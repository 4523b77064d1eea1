#include <algorithm>

#include <fmt/format.h>

#include "config/stores/stores.hpp"
#include "config/text.hpp"
#include "core/text.hpp"

namespace simba::config {

void read_user(const Url& url, std::vector<Parameter>& parameters) {
  if (!url.user.empty()) parameters.push_back({"user", url.user});
  if (!url.password.empty()) parameters.push_back({"password", url.password.reveal()});
}

void read_port(const Url& url, std::string_view hosts, std::uint16_t usual_port,
               std::vector<Parameter>& parameters) {
  const bool silent =
      url.parameter(hosts) || std::any_of(url.hosts.begin(), url.hosts.end(),
                                          [](const HostPort& host) { return !host.port; });
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
