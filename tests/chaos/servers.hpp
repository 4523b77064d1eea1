#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/detour_table.hpp"
#include "support/fault_proxy.hpp"
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

  /// Waits until all play their parts again. Throws std::runtime_error where that does not happen.
  virtual void await_order() {}

  /// The ways between the one with this role and other servers of the group that it needs. Empty:
  /// there are none.
  virtual std::vector<support::FaultProxy*> ways_to(std::string_view /*role*/) { return {}; }

  /// Something that a group does by itself, see the table of stores.
  virtual void act() {}
};

std::unique_ptr<Servers> open_sqlite(const Stage& stage);
std::unique_ptr<Servers> open_mariadb(const Stage& stage);
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
