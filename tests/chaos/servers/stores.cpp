#include "chaos/servers/stores.hpp"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "chaos/faults/contender_faults.hpp"
#include "chaos/faults/server_faults.hpp"
#include "simba/engine/contention_options.hpp"
#include "support/patience.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;

void append(std::vector<FaultKind>& all, std::vector<FaultKind> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// A clock and another one may each be off by this, so that they differ by no more than allowed.
int half_drift(const LeaseTimes& times) { return times.drift_ppm * 19 / 40; }

std::vector<FaultKind> network_faults(const LeaseTimes& times) {
  return contender_faults({.lease = times.lease(), .drift_ppm = half_drift(times)});
}

std::vector<FaultKind> group_faults(const LeaseTimes& times) {
  return contender_faults({.lease = times.lease(), .group = true, .drift_ppm = half_drift(times)});
}

/// Where slots follow the clocks of contenders: past a lease, and little enough to wait for slots
/// again.
std::chrono::milliseconds most_forward(const LeaseTimes& times) { return times.lease() * 2; }
constexpr const char* clock_of_hosts_note =
    "Slots follow the contenders' own clocks, so those are set forward by two leases only: after "
    "that no slot begins until the true time has come there.";

/// After a crash a mutex is free when the lease is over, and then one request must succeed.
std::chrono::milliseconds take_over(const LeaseTimes& times) {
  const ContentionPlan plan{{.ttl = times.ttl,
                             .transition = times.transition,
                             .clock_drift_ppm = times.drift_ppm,
                             .jitter = {0ms, times.jitter}}};
  return std::chrono::ceil<std::chrono::milliseconds>(simba::worst_cases(plan).take_over);
}

constexpr auto machine = 1'000ms;
constexpr const char* machine_text = "1 s for a machine with few cores";

/// Those that were hit by a fault just before may have to connect again.
constexpr auto connecting = 1'000ms;

Store with_clock_of_server(const LeaseTimes& times, std::string name,
                           std::unique_ptr<Servers> (*open)(const Stage& stage)) {
  Store store{.name = std::move(name), .open = open, .faults = network_faults(times)};
  append(store.faults, main_server_faults("server", "server", times.lease(), times.lease() * 2));
  store.faults.push_back(server_wall_clock_slewed(times.lease(), half_drift(times)));
  store.faults.push_back(server_wall_clock_set_back(times.lease()));
  store.notes =
      "The server's clock is not set forward: docs/guarantees.md says that this is unsafe.";
  return store;
}

Store sqlite(const LeaseTimes& times) {
  return {.name = "sqlite",
          .open = open_sqlite,
          .faults = contender_faults(
              {.lease = times.lease(), .network = false, .most_forward = most_forward(times)}),
          .bound = take_over(times) + support::scaled(machine),
          .bound_text = fmt::format("lease, drift, jitter, request timeout; {}", machine_text),
          .one_bound = take_over(times) + support::scaled(machine),
          .clock_of_hosts = true,
          .notes = fmt::format(
              "No server and no network. All processes have one clock, the machine's, so none "
              "runs fast or slow. A process that is paused while it writes keeps the file locked: "
              "there is no bound until it resumes. {}",
              clock_of_hosts_note)};
}

Store sql(const LeaseTimes& times, std::string name,
          std::unique_ptr<Servers> (*open)(const Stage& stage)) {
  auto store = with_clock_of_server(times, std::move(name), open);
  store.bound = take_over(times) + connecting + support::scaled(machine);
  store.one_bound = store.bound;
  store.bound_text =
      fmt::format("lease, drift, jitter, request timeout; 1 s to connect; {}", machine_text);
  return store;
}

Store fetched(Store store) {
  store.fetched = true;
  return store;
}

Store redis(const LeaseTimes& times) {
  auto store = with_clock_of_server(times, "redis", open_redis);
  store.one_bound = take_over(times) + connecting + support::scaled(machine);
  store.bound = store.one_bound + times.lease();
  store.bound_text = fmt::format(
      "lease, drift, jitter, request timeout; one more lease for a grant to a waiter that was "
      "paused or cut off; 1 s to connect; {}",
      machine_text);
  return store;
}

/// Servers have noticed the end of a master (1 s by sentinels, 2 s in a cluster) and voted by then.
constexpr auto fail_over = 3'000ms;

/// To be called when the store has all its faults. `role`: of the master.
void allow_two_owners_at_fail_overs(Store& store, const LeaseTimes& times,
                                    const std::string& role) {
  store.two_owners_possible = true;
  store.two_owners_within = times.lease() + support::scaled(fail_over);
  store.two_owners_for = times.lease();
  for (auto& kind : store.faults) {
    // Sentinels may blame a slow machine on the master even if others are hit.
    if (kind.on_servers) {
      kind.may_move = role;
    }
  }
}

Store redis_sentinel(const LeaseTimes& times) {
  auto store = redis(times);
  store.name = "redis-sentinel";
  store.open = open_redis_sentinel;
  store.faults = group_faults(times);
  append(store.faults, main_server_faults("master", "master", times.lease(), times.lease() * 3));
  store.faults.push_back(cut_off_from_servers("master", "master", times.lease()));
  append(store.faults, server_faults("replica", "replica", times.lease(), times.lease() * 2));
  append(store.faults, server_faults("sentinel", "sentinel", times.lease(), times.lease() * 2));
  store.faults.push_back(server_wall_clock_slewed(times.lease(), half_drift(times)));
  allow_two_owners_at_fail_overs(store, times, "master");
  store.notes =
      "wait-replicas=1 of 1: without its replica nobody acquires or renews, so a fault of the "
      "master ends when the old one has come back as a replica. Two owners are possible at a "
      "failover, as documented: they fail the run unless another server became master shortly "
      "before, or if they last longer than a lease (unless one belongs to the JVM library, "
      "which does not wait for replicas) or have the same token. The "
      "clock is not stepped: sentinels notice and do nothing for half a minute.";
  return store;
}

Store redis_cluster(const LeaseTimes& times) {
  auto store = redis(times);
  store.name = "redis-cluster";
  store.open = open_redis_cluster;
  store.faults = group_faults(times);
  append(store.faults,
         main_server_faults("node of the mutex", "holder", times.lease(), times.lease() * 3));
  store.faults.push_back(cut_off_from_servers("node of the mutex", "holder", times.lease()));
  append(store.faults, server_faults("another node", "other", times.lease(), times.lease() * 2));
  store.faults.push_back(servers_act("slot moved to another node"));
  store.faults.push_back(server_wall_clock_slewed(times.lease(), half_drift(times)));
  store.faults.push_back(server_wall_clock_set_back(times.lease()));
  store.notes =
      "Three masters without replicas, so nothing is forgotten and two owners are not tolerated; "
      "the mutexes of a node that is down wait for it. The servers' clock is not set forward. No "
      "contenders of the JVM library: docs/guarantees.md says that they are not excluded while a "
      "slot moves.";
  return store;
}

Store redis_cluster_replicas(const LeaseTimes& times) {
  auto store = redis(times);
  store.name = "redis-cluster-replicas";
  store.open = open_redis_cluster_replicas;
  store.faults = group_faults(times);
  append(store.faults, main_server_faults("master", "holder", times.lease(), times.lease() * 3));
  store.faults.push_back(cut_off_from_servers("master", "holder", times.lease()));
  append(store.faults, server_faults("replica", "replica", times.lease(), times.lease() * 2));
  store.faults.push_back(server_wall_clock_slewed(times.lease(), half_drift(times)));
  allow_two_owners_at_fail_overs(store, times, "holder");
  store.notes =
      "wait-replicas=1 of 1: without its replica nobody acquires or renews, so a fault of the "
      "master ends when the old one has come back as a replica. Two owners are possible at a "
      "failover, as documented: they fail the run unless another server became master shortly "
      "before, or if they last longer than a lease (unless one belongs to the JVM library, "
      "which does not wait for replicas) or have the same token.";
  return store;
}

Store zookeeper(const LeaseTimes& times) {
  Store store{.name = "zookeeper",
              .open = open_zookeeper,
              .faults = contender_faults({.lease = times.lease(),
                                          .drift_ppm = half_drift(times),
                                          .most_forward = most_forward(times)}),
              .clock_of_hosts = true};
  append(store.faults, main_server_faults("server", "server", times.lease(), times.lease() * 2));
  store.faults.push_back(server_steady_clock_slewed(times.lease(), half_drift(times)));
  store.faults.push_back(server_wall_clock_set(times.lease()));
  store.one_bound = times.lease() + times.tick + connecting + support::scaled(machine);
  store.bound = store.one_bound + times.lease();
  store.bound_text = fmt::format(
      "session and one tick, and one more session because a server that starts gives each session "
      "its full time; 1 s to connect; {}",
      machine_text);
  store.notes = fmt::format(
      "ZooKeeper does not use the wall clock, so that is set hours forward and back. {}",
      clock_of_hosts_note);
  return store;
}

Store zookeeper_ensemble(const LeaseTimes& times) {
  auto store = zookeeper(times);
  store.name = "zookeeper-ensemble";
  store.open = open_zookeeper_ensemble;
  store.faults = contender_faults({.lease = times.lease(),
                                   .group = true,
                                   .drift_ppm = half_drift(times),
                                   .most_forward = most_forward(times)});
  append(store.faults, main_server_faults("leader", "leader", times.lease(), times.lease() * 3));
  store.faults.push_back(cut_off_from_servers("leader", "leader", times.lease()));
  store.faults.push_back(cut_off_from_servers("follower", "follower", times.lease()));
  append(store.faults, server_faults("follower", "follower", times.lease(), times.lease() * 2));
  store.faults.push_back(server_steady_clock_slewed(times.lease(), half_drift(times)));
  store.faults.push_back(server_wall_clock_set(times.lease()));
  return store;
}

}  // namespace

std::vector<Store> all_stores() {
  const auto times = lease_times();
  std::vector<Store> stores;
  stores.push_back(sqlite(times));
  stores.push_back(sql(times, "mariadb", open_mariadb));
  stores.push_back(fetched(sql(times, "mysql57", open_mysql57)));
  stores.push_back(fetched(sql(times, "mysql97", open_mysql97)));
  stores.push_back(sql(times, "postgresql", open_postgresql));
  stores.push_back(redis(times));
  stores.push_back(redis_sentinel(times));
  stores.push_back(redis_cluster(times));
  stores.push_back(redis_cluster_replicas(times));
  stores.push_back(zookeeper(times));
  stores.push_back(zookeeper_ensemble(times));
  return stores;
}

void make_unsafe(Store& store) {
  store.faults = {server_wall_clock_set_forward(lease_times().lease())};
  store.notes = "Unsafe, as docs/guarantees.md says: this is to show that two owners are found.";
}

}  // namespace simba::chaos
