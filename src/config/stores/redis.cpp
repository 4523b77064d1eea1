#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/keys/common_keys.hpp"
#include "config/messages.hpp"
#include "config/stores/stores.hpp"
#include "core/host_list.hpp"
#include "core/text.hpp"
#include "simba/core/error.hpp"
#include "simba/redis/redis_admin.hpp"
#include "simba/redis/redis_factory.hpp"

namespace simba::config {
namespace {

using redis::Topology;

constexpr std::uint16_t server_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;

class RedisStoreOptions final
    : public OptionsOf<redis::RedisOptions, redis::make_redis_store, redis::make_redis_factory,
                       redis::make_redis_admin> {
 public:
  RedisStoreOptions() {
    keys_.choice<Topology>(
        {.name = "topology",
         .meaning = "a single server, a master watched by sentinels, or a cluster"},
        options_.topology,
        {{"single", Topology::single},
         {"sentinel", Topology::sentinel},
         {"cluster", Topology::cluster}});
    keys_.hosts({.name = "hosts",
                 .meaning = "the server, the sentinels, or some nodes of the cluster",
                 .fallback = "127.0.0.1",
                 .field = "endpoints"},
                hosts_);
    keys_.integer({.name = "port",
                   .meaning = "TCP port of hosts given without one",
                   .fallback = "6379; for sentinels 26379"},
                  port_, 1, 65'535);
    keys_.path({.name = "unix-socket",
                .meaning = "the path of a Unix socket, instead of hosts",
                .instead_of = {"hosts"}},
               unix_socket_);
    keys_.text(
        {.name = "user", .meaning = "a user of the server's ACL", .fallback = "the default user"},
        options_.user);
    keys_.secret({.name = "password", .meaning = "password of `user`"}, options_.password);
    keys_.integer({.name = "database", .meaning = "number of the database; must be 0 on a cluster"},
                  options_.database, 0, std::numeric_limits<int>::max());
    keys_.text({.name = "client-name", .meaning = "shown by CLIENT LIST"}, options_.client_name);
    keys_.text({.name = "master-name", .meaning = "the name that the sentinels use"},
               options_.master_name);
    keys_.text({.name = "sentinel-user", .meaning = "a user of the sentinels' own ACL"},
               options_.sentinel_user);
    keys_.secret({.name = "sentinel-password", .meaning = "password of `sentinel-user`"},
                 options_.sentinel_password);
    keys_.text({.name = "permitted-hosts",
                .meaning = "hosts, separated by commas, that sentinels and cluster nodes may refer "
                           "to; `*` stands for any characters",
                .fallback = "any"},
               permitted_hosts_);
    keys_.integer(
        {.name = "wait-replicas",
         .meaning =
             "an acquisition or renewal counts only if this many replicas have confirmed it"},
        options_.wait_replicas, 0, 1'000);
    keys_.duration({.name = "wait-timeout", .meaning = "how long the replicas may take to confirm"},
                   options_.wait_timeout);
    keys_.duration({.name = "token-retention",
                    .meaning = "how long after its last lease a mutex keeps its newest fencing "
                               "token: the largest step back of the server's clock that tokens "
                               "survive"},
                   options_.token_retention);
    keys_.duration({.name = "connect-timeout",
                    .meaning = "how long name resolution, connecting and login may take together"},
                   options_.connect_timeout);
    keys_.duration({.name = "command-timeout",
                    .meaning = "a command that is not answered within this time counts as failed, "
                               "and its connection as broken",
                    .fallback = "`request-timeout`"},
                   options_.command_timeout);
    bind_tls(keys_, options_.tls);
    bind_contention(keys_, options_.contention);
  }

  std::string description() const override {
    const redis::RedisOptions options = complete();
    const std::string user = user_part(options.user);
    if (!unix_socket_.empty()) return fmt::format("redis+unix://{}{}", user, unix_socket_);
    std::string text = uses_tls(options.tls.mode) ? "rediss" : "redis";
    if (options.topology == Topology::sentinel) text += "+sentinel";
    if (options.topology == Topology::cluster) text += "+cluster";
    text += "://" + user + detail::hosts_text(hosts_or_default(), default_port());
    if (options.topology == Topology::sentinel)
      text += "/" + detail::percent_encoded(options.master_name);
    if (options.database != 0) text += fmt::format("/{}", options.database);
    return text;
  }

 private:
  std::uint16_t default_port() const {
    return port_.value_or(options_.topology == Topology::sentinel ? sentinel_port : server_port);
  }

  std::vector<detail::HostPort> hosts_or_default() const {
    return hosts_.empty() ? std::vector{detail::HostPort{.host = "127.0.0.1"}} : hosts_;
  }

  redis::RedisOptions complete() const override {
    redis::RedisOptions options = options_;
    options.endpoints.clear();
    for (std::string_view rest = permitted_hosts_; !rest.empty();) {
      const auto comma = rest.find(',');
      options.permitted_hosts.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
    if (!unix_socket_.empty()) {
      if (!hosts_.empty()) {
        throw InvalidArgumentError{"hosts and unix-socket are both set; remove one of them"};
      }
      options.endpoints.push_back({.unix_socket = unix_socket_});
      return options;
    }
    for (const detail::HostPort& host : hosts_or_default()) {
      options.endpoints.push_back({.host = host.host, .port = host.port.value_or(default_port())});
    }
    return options;
  }

  // `endpoints` is made of the three below, `permitted_hosts` of the last.
  std::vector<detail::HostPort> hosts_;
  std::optional<std::uint16_t> port_;
  std::string unix_socket_;
  std::string permitted_hosts_;
};

void read_steps(const Url& url, std::string_view topology, std::vector<Parameter>& parameters) {
  std::vector<std::string> steps = url.steps;
  if (topology == "sentinel") {
    if (steps.empty() || steps.front().empty()) {
      refuse(fmt::format(
          "the path of a {}:// URL must begin with the name of the master, for example /mymaster",
          url.scheme));
    }
    parameters.push_back({"master-name", steps.front()});
    steps.erase(steps.begin());
  }
  if (steps.empty()) return;
  if (steps.size() > 1) refuse("the path of the URL has too many parts");
  parameters.push_back({"database", steps.front()});
}

void read_tls(const Url& url, std::vector<Parameter>& parameters) {
  if (!url.scheme.starts_with("rediss")) return;
  const auto given = url.parameter("tls");
  if (!given) {
    parameters.push_back({"tls", "verify"});
  } else if (*given == "off") {
    refuse(fmt::format("{}:// means TLS, which tls=off contradicts", url.scheme));
  }
}

}  // namespace

std::unique_ptr<StoreOptions> make_redis_options() { return std::make_unique<RedisStoreOptions>(); }

std::vector<Parameter> read_redis_url(const Url& url) {
  std::vector<Parameter> parameters;
  read_user(url, parameters);
  if (url.scheme == "redis+unix") {
    if (!url.hosts.empty() || url.steps.empty()) {
      refuse(
          "redis+unix:// takes the path of a socket, for example "
          "redis+unix:///run/redis/redis.sock");
    }
    parameters.push_back({"unix-socket", fmt::format("/{}", fmt::join(url.steps, "/"))});
    if (!url.parameter("topology")) parameters.push_back({"topology", "single"});
    return parameters;
  }
  const std::size_t plus = url.scheme.find('+');
  const std::string topology = plus == std::string::npos ? "single" : url.scheme.substr(plus + 1);
  parameters.push_back({"topology", topology});
  if (topology == "single" && url.hosts.size() > 1) {
    refuse(
        fmt::format("{}:// takes one host (got {}); redis+sentinel:// and "
                    "redis+cluster:// take several",
                    url.scheme, url.hosts.size()));
  }
  std::string hosts;
  for (const detail::HostPort& host : url.hosts) {
    if (!hosts.empty()) hosts += ',';
    hosts += detail::host_text(host.host);
    if (host.port) hosts += fmt::format(":{}", *host.port);
  }
  if (!hosts.empty()) parameters.push_back({"hosts", hosts});
  read_port(url, "hosts", topology == "sentinel" ? sentinel_port : server_port, parameters);
  read_steps(url, topology, parameters);
  read_tls(url, parameters);
  return parameters;
}

}  // namespace simba::config
