#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>

#include "chaos/result.hpp"
#include "chaos/servers/stores.hpp"

namespace simba::chaos {

struct RoundSettings {
  std::chrono::seconds length{20};
  std::uint64_t seed = 1;
  int contenders = 5;
  int jvm = 2;  ///< contenders of the JVM library beside them, where that has the store
  std::filesystem::path folder;  ///< gets the records; is made, and must be empty
};

/// One round on one store: starts servers and contenders, does harm, ends them and looks at what
/// they have written down. Writes timeline.html into the folder.
///
/// One a process: it changes the environment that servers inherit.
StoreResult run_round(const Store& store, const RoundSettings& settings,
                      const std::atomic<bool>& interrupted);

}  // namespace simba::chaos
