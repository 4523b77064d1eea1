#include "soak/store.hpp"

#include <vector>

#include <fmt/format.h>

#include "simba/config/configuration.hpp"
#include "soak/process_figures.hpp"
#include "support/servers.hpp"

namespace simba::soak {
namespace {

/// The part of a URL before the path: "user:password@host:port".
std::string authority(const support::Location& location) {
  const std::string secret =
      location.password.empty() ? std::string{} : fmt::format(":{}", location.password);
  const std::string user =
      location.user.empty() && secret.empty() ? "" : location.user + secret + "@";
  return fmt::format("{}{}:{}", user, location.host, location.port);
}

}  // namespace

Store::Store(const std::string& store) : name_{store}, url_{store} {
  if (store == "redis") {
    server_ = std::make_unique<support::RedisServer>();
    url_ = fmt::format("redis://{}", authority(server_->location()));
  } else if (store == "mariadb") {
    // Threads end with their connections, so that what is left of a burst is no growth.
    server_ = std::make_unique<support::MariaDbServer>(
        support::Tls::off,
        std::vector<std::string>{"--max-connections=2000", "--thread-cache-size=0"});
    url_ =
        fmt::format("mysql://{}/{}", authority(server_->location()), server_->location().database);
  } else {
    name_ = config::Configuration::from_url(url_).description();
    return;
  }
  port_ = server_->port();
  process_ = find_listener(*port_);
}

}  // namespace simba::soak
