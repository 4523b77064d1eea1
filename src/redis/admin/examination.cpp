#include "redis/admin/examination.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/tested_versions.hpp"
#include "core/text.hpp"
#include "redis/admin/admin_answers.hpp"
#include "redis/admin/command_trials.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/keys.hpp"
#include "redis/protocol/server_error.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using engine::Finding;
using engine::StoreReport;
using Code = ServerError::Code;
using Weight = Finding::Weight;
using std::chrono::milliseconds;

class Examination {
 public:
  explicit Examination(ServerConsole& console) : console_{console} {}

  StoreReport run() {
    report_.server = "Redis";
    if (console_.options().topology == Topology::sentinel) check_sentinels();
    std::vector<Endpoint> masters;
    try {
      masters = console_.masters();
      check_servers(masters);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::permission && error.kind() != ErrorKind::configuration) throw;
      add(Weight::problem, error.what(), error.kind());
    }
    if (console_.options().topology == Topology::cluster) check_cluster(masters);
    return std::move(report_);
  }

 private:
  /// Once each: the servers of a cluster often share what is wrong.
  void add(Weight weight, std::string text, ErrorKind kind = ErrorKind::configuration) {
    if (told_.insert(text).second) report_.findings.push_back({weight, std::move(text), kind});
  }

  /// One that can be reached is enough to tell of the others.
  void check_servers(const std::vector<Endpoint>& servers) {
    std::vector<Error> errors;
    for (const Endpoint& server : servers) {
      try {
        check_server(server);
      } catch (const Error& error) {
        errors.push_back(error);
      }
    }
    if (!errors.empty() && errors.size() == servers.size()) throw Error{errors.front()};
    for (const Error& error : errors) add(Weight::problem, error.what(), error.kind());
  }

  void check_server(const Endpoint& server) {
    check_role(server);
    check_time(server);
    check_clocks(server);
    check_info(server);
    for (Finding& finding : try_commands(console_, server)) {
      add(finding.weight, std::move(finding.text), finding.kind);
    }
    check_channels(server);
    check_pings(server);
    const Reply scan = console_.ask(server, {"SCAN", "0", "COUNT", "1"});
    if (scan.is(Reply::Type::error) && parse_server_error(scan.text).code == Code::no_permission) {
      add(Weight::note, "this user is not allowed to list mutexes; run: ACL SETUSER <user> +scan");
    }
  }

  void check_role(const Endpoint& server) {
    const Reply role = console_.ask(server, {"ROLE"});
    if (!role.is(Reply::Type::array) || role.elements.empty()) return;
    if (const std::string& name = role.elements.front().text; name != "master") {
      add(Weight::problem,
          fmt::format("{} is a {}, not a master; connect to the master or to the sentinels",
                      place_of(server), detail::excerpt(name)),
          ErrorKind::unavailable);
      return;
    }
    const int wanted = console_.options().wait_replicas;
    const std::size_t replicas = role.elements.size() > 2 ? role.elements[2].elements.size() : 0;
    if (wanted > 0 && replicas < static_cast<std::size_t>(wanted)) {
      add(Weight::problem,
          fmt::format("{} has {} replicas, but wait_replicas requires {}; no mutex can be acquired",
                      place_of(server), replicas, wanted),
          ErrorKind::unavailable);
    }
  }

  void check_time(const Endpoint& server) {
    const Reply time = console_.ask(server, {"TIME"});
    if (!report_.server_time) report_.server_time = server_time(time);
  }

  /// Expiry is replicated as a moment, so the clock of the replica that takes over decides.
  void check_clocks(const Endpoint& master) {
    const ContentionPlan plan{console_.options().contention};
    const milliseconds margin = plan.margin;
    for (const Endpoint& replica : replicas_in(console_.ask(master, {"ROLE"}))) {
      try {
        const auto before = server_time(console_.ask(master, {"TIME"}));
        const auto time = server_time(console_.ask_replica(replica, {"TIME"}));
        const auto after = server_time(console_.ask(master, {"TIME"}));
        if (!before || !time || !after) continue;
        const milliseconds ahead = ahead_of(*before, *time, *after);
        if (ahead > margin) {
          add(Weight::warning,
              fmt::format("the clock of replica {} is at least {} ms ahead of its master's, which "
                          "is more than the margin of {} ms: after a failover to it a mutex may "
                          "have two owners; synchronize the clocks",
                          to_string(replica), ahead.count(), margin.count()));
        } else if (-ahead > margin) {
          add(Weight::warning,
              fmt::format("the clock of replica {} is at least {} ms behind its master's: after a "
                          "failover to it the leases of crashed owners last longer by as much, and "
                          "tokens may not grow; synchronize the clocks",
                          to_string(replica), -ahead.count()));
        }
      } catch (const Error& error) {
        add(Weight::note,
            fmt::format("the clock of replica {} cannot be compared with its master's: {}",
                        to_string(replica), error.what()));
      }
    }
  }

  void check_info(const Endpoint& server) {
    const Reply info = console_.ask(server, {"INFO"});
    if (info.is(Reply::Type::error)) {
      add(Weight::note,
          "this user cannot read version, persistence and eviction policy, nor see whether a proxy "
          "answers PING in place of Redis; run: ACL SETUSER <user> +info");
      return;
    }
    check_version(value_in(info.text, "redis_version"), server_in(info.text));
    if (const auto policy = value_in(info.text, "maxmemory_policy");
        !policy.empty() && policy != "noeviction") {
      add(Weight::warning, fmt::format("maxmemory-policy of {} is {}: when memory runs out it may "
                                       "evict owners; set it to noeviction",
                                       place_of(server), policy));
    }
    if (value_in(info.text, "aof_enabled") == "0") {
      add(Weight::warning,
          fmt::format("appendonly of {} is off: a crash loses the owners, and a mutex may then "
                      "have two; set appendonly to yes and appendfsync to always",
                      place_of(server)));
      return;
    }
    const Reply fsync = console_.ask(server, {"CONFIG", "GET", "appendfsync"});
    if (fsync.is(Reply::Type::error)) {
      add(Weight::note,
          "this user cannot read appendfsync; run: ACL SETUSER <user> "
          "+config|get");
    }
    if (fsync.elements.size() == 2 && fsync.elements[1].text != "always") {
      add(Weight::warning, fmt::format("appendfsync of {} is {}: a crash may lose the most recent "
                                       "owners, and a mutex may then have two; set it to always",
                                       place_of(server), detail::excerpt(fsync.elements[1].text)));
    }
  }

  /// Who may use every channel sees the grants to others, and can wake and confuse waiters.
  void check_channels(const Endpoint& server) {
    const std::string& user = console_.options().user;
    const std::string own = user.empty() ? "default" : user;
    if (!console_.ask(server, {"PUBLISH", "simba-doctor", ""}).is(Reply::Type::error)) {
      add(Weight::warning, may_use_every_channel(own));
    }
    const Reply list = console_.ask(server, {"ACL", "LIST"});
    if (!list.is(Reply::Type::array)) {
      add(Weight::note,
          "this user cannot read the ACL, so it is not known which other users may use every "
          "channel, or read the secrets of waiters with MONITOR or SLOWLOG; run simba doctor as an "
          "administrator, or: ACL SETUSER <user> +acl|list");
      return;
    }
    for (const Reply& line : list.elements) {
      const AclUser other = acl_user_in(line.text);
      if (other.name == own) continue;
      if (other.uses_every_channel) add(Weight::warning, may_use_every_channel(other.name));
      if (other.only_reads_requests) {
        add(Weight::warning,
            fmt::format("Redis user {0} has no rights to Simba's keys, but can read the secrets of "
                        "waiters with MONITOR or SLOWLOG and, if it may also publish, forge "
                        "grants; run: ACL SETUSER {0} -monitor -slowlog",
                        detail::excerpt(other.name)));
      }
    }
  }

  /// A lease that is granted by message counts from a PING that the server itself has answered. So
  /// the server must have counted those that are sent on a connection that listens.
  void check_pings(const Endpoint& server) {
    constexpr std::uint64_t pings = 5;
    const std::string channel = lock_name("simba-doctor") + ":pings";  // nobody publishes on it
    const std::string count = command({"INFO", "commandstats"});
    std::string commands = count + command({"SUBSCRIBE", channel});
    for (std::uint64_t i = 0; i < pings; ++i) commands += command({"PING"});
    commands += command({"UNSUBSCRIBE", channel}) + count;
    const auto replies = console_.ask(server, commands, pings + 4);
    console_.leave(server);  // who may not unsubscribe can ask nothing more on it
    const auto before = calls_in(replies.front().text, "ping");
    const auto after = calls_in(replies.back().text, "ping");
    if (!before || !after || *after < *before) return;  // see check_info
    if (*after - *before < pings) {
      add(Weight::problem,
          fmt::format("{} is reached through a proxy that answers PING by itself, or spreads "
                      "commands over servers: a mutex may have two owners; connect to Redis itself "
                      "or through a proxy that forwards bytes",
                      place_of(server)));
    }
  }

  static std::string may_use_every_channel(const std::string& user) {
    return fmt::format(
        "Redis user {0} may use every channel, and so read and disturb what is told to waiters; "
        "run: ACL SETUSER {0} resetchannels, and allow the channels it needs",
        detail::excerpt(user));
  }

  /// `like`: the version of Redis that the server can do at least what can.
  void check_version(const std::string& like, const ServerVersion& server) {
    if (server.version.empty()) return;
    report_.server = server.product + " " + server.version;
    if (!like.empty() && is_too_old(like)) {
      add(Weight::problem, fmt::format("Redis {} is too old; 6.2 or later is required", like),
          ErrorKind::unsupported);
      return;
    }
    if (auto remark = detail::untested_version(server.product, server.version); !remark.empty()) {
      add(Weight::note, std::move(remark));
    }
    if (auto remark = detail::untested_product(server.product); !remark.empty()) {
      add(Weight::warning, std::move(remark));
    }
  }

  void check_sentinels() {
    const auto& all = console_.options().endpoints;
    std::vector<Reply> answers;
    for (const Endpoint& sentinel : all) {
      try {
        Reply answer = console_.ask_sentinel(
            sentinel, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", console_.options().master_name});
        if (answer.is(Reply::Type::array)) answers.push_back(std::move(answer));
      } catch (const Error& error) {
        add(Weight::warning, fmt::format("a sentinel does not answer: {}", error.what()));
      }
    }
    const bool enough = answers.size() * 2 > all.size();
    add(answers.size() == all.size() ? Weight::note : Weight::warning,
        fmt::format("{} of {} sentinels know the master{}", answers.size(), all.size(),
                    enough ? "" : "; there is no failover without a majority"));
    const bool agree = std::all_of(answers.begin(), answers.end(),
                                   [&](const Reply& one) { return one == answers.front(); });
    if (!agree) {
      add(Weight::warning,
          "the sentinels disagree about the master; a failover is in progress, or some sentinels "
          "are isolated");
    }
  }

  void check_cluster(const std::vector<Endpoint>& masters) {
    if (masters.empty()) return;
    if (const std::size_t served = console_.map().served(); served < slot_count) {
      add(Weight::problem,
          fmt::format("the cluster serves {} of {} slots; check CLUSTER INFO for missing nodes",
                      served, slot_count),
          ErrorKind::unavailable);
    }
    const std::string state = cluster_state(masters);
    if (!state.empty() && state != "ok") {
      add(Weight::problem, fmt::format("the cluster state is {}; see CLUSTER INFO", state),
          ErrorKind::unavailable);
    }
    add(Weight::note, fmt::format("the cluster has {} masters", masters.size()));
  }

  /// As the first says that answers; empty if this user may not ask.
  std::string cluster_state(const std::vector<Endpoint>& masters) {
    for (const Endpoint& master : masters) {
      try {
        return value_in(console_.ask(master, {"CLUSTER", "INFO"}).text, "cluster_state");
      } catch (const Error&) {  // which has been told
        continue;
      }
    }
    return {};
  }

  ServerConsole& console_;
  StoreReport report_{};
  std::set<std::string> told_{};
};

}  // namespace

StoreReport examine_servers(ServerConsole& console) { return Examination{console}.run(); }

}  // namespace simba::redis
