#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/faults/fault.hpp"
#include "chaos/servers/servers.hpp"

namespace simba::chaos {

/// A store that chaos is brought to.
struct Store {
  std::string name{};

  /// Its server is no package of this system but fetched by a script, so it is not among "all".
  bool fetched = false;

  std::unique_ptr<Servers> (*open)(const Stage& stage) = nullptr;
  std::vector<FaultKind> faults{};

  /// How long after the end of a fault nobody may own the mutex.
  std::chrono::milliseconds bound{};
  std::string bound_text{};

  /// How long nobody may own the mutex from within a fault on, where that hits one contender only:
  /// the others are well.
  std::chrono::milliseconds one_bound{};

  /// Whether docs/guarantees.md says that there can be two owners for a while on such servers: from
  /// the start of a fault that makes them fail over to this time after its end, and then for so
  /// long at most.
  bool two_owners_possible = false;
  std::chrono::milliseconds two_owners_within{};
  std::chrono::milliseconds two_owners_for{};

  /// Whether slots of schedules follow the clocks of the contenders, not the servers'.
  bool clock_of_hosts = false;

  std::string notes{};
};

/// All of them.
std::vector<Store> all_stores();

/// Leaves only what is documented as unsafe: the servers' wall clock is set forward.
void make_unsafe(Store& store);

}  // namespace simba::chaos
