#include <algorithm>

#include <fmt/format.h>

#include "config/keys/common_keys.hpp"
#include "config/stores/stores.hpp"
#include "core/host_list.hpp"
#include "simba/core/error.hpp"
#include "simba/zookeeper/zookeeper_admin.hpp"
#include "simba/zookeeper/zookeeper_factory.hpp"

namespace simba::config {
namespace {

using zookeeper::NodeAcl;
using zookeeper::OnDisconnect;

constexpr std::uint16_t usual_port = 2181;

class ZooKeeperStoreOptions final
    : public OptionsOf<zookeeper::ZooKeeperOptions, zookeeper::make_zookeeper_store,
                       zookeeper::make_zookeeper_factory, zookeeper::make_zookeeper_admin> {
 public:
  ZooKeeperStoreOptions() {
    keys_.text(
        {.name = "connect-string",
         .meaning =
             "the servers, optionally followed by a chroot, for example zk1:2181,zk2:2181/prod"},
        options_.connect_string);
    keys_.text({.name = "base-path", .meaning = "the parent of the nodes of all mutexes"},
               options_.base_path);
    keys_.duration({.name = "session-timeout",
                    .meaning = "the servers end a session that they have not heard from for this "
                               "long; if it is set, ttl and transition are derived from it",
                    .fallback = "ttl + transition",
                    .instead_of = {"ttl", "transition"}},
                   options_.session_timeout);
    keys_.duration({.name = "connection-timeout",
                    .meaning = "how long requests wait for the first connection"},
                   options_.connection_timeout);
    keys_.duration({.name = "tick-time",
                    .meaning = "`tickTime` of the servers; set it if theirs is longer",
                    .fallback = "2s, at most half of the session timeout"},
                   options_.tick_time);
    keys_.choice<OnDisconnect>(
        {.name = "on-disconnect",
         .meaning = "what an owner does when the connection is lost: `step-down` immediately, as "
                    "Curator does"},
        options_.on_disconnect,
        {{"keep-while-session-lasts", OnDisconnect::keep_while_session_lasts},
         {"step-down", OnDisconnect::step_down}});
    keys_.text(
        {.name = "user", .meaning = "user name for the scheme `digest`", .field = "digest_user"},
        options_.digest_user);
    keys_.secret({.name = "password", .meaning = "password of `user`", .field = "digest_password"},
                 options_.digest_password);
    keys_.choice<NodeAcl>({.name = "acl",
                           .meaning = "the ACL of the nodes that Simba creates: for everyone, or "
                                      "only for clients with the same user and password",
                           .fallback = "creator if `user` is set, otherwise open"},
                          options_.acl,
                          {{"open", NodeAcl::open},
                           {"creator", NodeAcl::creator},
                           {"creator-others-read", NodeAcl::creator_others_read}});
    bind_tls(keys_, options_.tls);
    bind_contention(keys_, options_.contention);
  }

  std::string description() const override {
    return fmt::format("zookeeper://{}{}", user_part(options_.digest_user),
                       complete().connect_string);
  }

  ContentionPlan plan() const override {
    return ContentionPlan{zookeeper::contention_of(options_)};
  }

 private:
  /// ZooKeeper's library wants a port after each host.
  zookeeper::ZooKeeperOptions complete() const override {
    auto options = options_;
    const std::string_view text = options_.connect_string;
    const std::size_t slash = std::min(text.find('/'), text.size());
    try {
      options.connect_string =
          detail::hosts_text(detail::parse_hosts(text.substr(0, slash)), usual_port) +
          std::string{text.substr(slash)};
    } catch (const Error& error) {
      throw InvalidArgumentError{fmt::format("connect-string: {}", error.what())};
    }
    return options;
  }
};

}  // namespace

std::unique_ptr<StoreOptions> make_zookeeper_options() {
  return std::make_unique<ZooKeeperStoreOptions>();
}

std::vector<Parameter> read_zookeeper_url(const Url& url) {
  std::vector<Parameter> parameters;
  read_user(url, parameters);
  std::string servers = url.hosts.empty() ? "127.0.0.1" : detail::hosts_text(url.hosts, usual_port);
  for (const std::string& step : url.steps) servers += "/" + step;
  if (!url.hosts.empty() || !url.steps.empty()) {
    parameters.push_back({"connect-string", servers});
  }
  return parameters;
}

}  // namespace simba::config
