#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/faults/detour_table.hpp"
#include "support/proxy/fault_proxy.hpp"
#include "support/server.hpp"

namespace simba::chaos {

/// The lease of all contenders, and what belongs to it.
struct LeaseTimes {
  std::chrono::milliseconds ttl{};
  std::chrono::milliseconds transition{};
  std::chrono::milliseconds jitter{};
  std::chrono::milliseconds tick{};  ///< of ZooKeeper servers
  int drift_ppm = 0;                 ///< clocks may differ so much in rate

  std::chrono::milliseconds lease() const noexcept { return ttl + transition; }
};

/// The short ones of a round, longer where tests are slow.
LeaseTimes lease_times();

/// What a group of servers may take to be in order again: far longer than it does.
inline constexpr std::chrono::seconds order_limit{60};

/// Where servers live.
struct Stage {
  std::string folder{};         ///< for their files, open to this process
  std::string open_folder{};    ///< for files that servers read
  DetourTable* ways = nullptr;  ///< of all their connections; empty at first
};

/// A process that contends for the first mutex as the JVM library does, and no safer: it counts no
/// time. It acquires, holds and gives back until SIGTERM or the end of the process that started it.
struct JvmContender {
  std::string id{};
  std::string record{};   ///< the file for its lines, see record.hpp
  std::string status{};   ///< the file of Status, of which eight bytes are its own
  std::size_t sight = 0;  ///< where they begin
  std::uint64_t seed = 0;
};

/// What the command line of each such process ends with, before what its store adds: record,
/// status, sight, seed, mutex, id, ttl, transition, and by how many ppm clocks may differ in rate.
std::vector<std::string> jvm_words(const JvmContender& contender);

/// On Redis: at one of these ports; by sentinels where there is a name of the master, else at nodes
/// of a cluster, whose referrals are followed, or at a single server. Throws as
/// `Servers::jvm_command`.
std::vector<std::string> jvm_redis_command(const JvmContender& contender,
                                           const std::vector<std::uint16_t>& ports,
                                           const std::string& master_name,
                                           const std::string& password);

/// The servers of a store, set so that what they have confirmed survives their end.
///
/// Threads: used by one thread at a time.
class Servers {
 public:
  Servers() = default;
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;
  virtual ~Servers() = default;

  /// For `make_factory`.
  virtual std::string url() const = 0;

  /// All to which contenders connect.
  virtual std::vector<std::uint16_t> ports() const = 0;

  /// The one that has this role now: "server", or of a group "master", "leader" and the like.
  /// Throws std::runtime_error where there is none.
  virtual support::Server& with_role(std::string_view role) = 0;

  /// How often a role has moved to another server, where the group counts that: one that moves away
  /// and back within a fault leaves no other trace.
  virtual std::uint64_t moves() { return 0; }

  /// Waits until all play their parts again. Throws std::runtime_error where that does not happen.
  virtual void await_order() {}

  /// The ways between the one with this role and other servers of the group that it needs. Empty:
  /// there are none.
  virtual std::vector<support::FaultProxy*> ways_to(std::string_view /*role*/) { return {}; }

  /// The command line of a contender of the JVM library. Empty: that library does not have the
  /// store, or not under everything that is done to it here. Throws std::runtime_error where its
  /// stand-in cannot be run on this machine.
  virtual std::vector<std::string> jvm_command(const JvmContender& /*contender*/) const {
    return {};
  }

  /// Something that a group does by itself, see the table of stores.
  virtual void act() {}
};

std::unique_ptr<Servers> open_sqlite(const Stage& stage);
std::unique_ptr<Servers> open_mariadb(const Stage& stage);
std::unique_ptr<Servers> open_mysql57(const Stage& stage);
std::unique_ptr<Servers> open_mysql97(const Stage& stage);
std::unique_ptr<Servers> open_postgresql(const Stage& stage);
std::unique_ptr<Servers> open_redis(const Stage& stage);
std::unique_ptr<Servers> open_redis_sentinel(const Stage& stage);
std::unique_ptr<Servers> open_redis_cluster(const Stage& stage);
std::unique_ptr<Servers> open_redis_cluster_replicas(const Stage& stage);
std::unique_ptr<Servers> open_zookeeper(const Stage& stage);
std::unique_ptr<Servers> open_zookeeper_ensemble(const Stage& stage);

/// The parameters of a URL that say how to contend.
std::string contention_parameters(const LeaseTimes& times);

}  // namespace simba::chaos
