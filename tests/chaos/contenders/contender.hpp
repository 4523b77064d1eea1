#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "chaos/round_files.hpp"

namespace simba::chaos {

struct ContenderSettings {
  RoundFiles files;
  Incarnation which{};
  std::uint64_t seed = 0;
  std::string url;
  std::filesystem::path store_clocks;  ///< those that the slots of schedules follow
};

/// A contender's process: fights for both mutexes, uses what they protect, takes part in the shared
/// schedules and writes its records,
/// until SIGTERM or the end of the process that started it. It is started with SIGTERM, SIGINT and
/// SIGHUP blocked. Returns its exit code; 0: it has given back everything in order.
int run_contender(const ContenderSettings& settings);

}  // namespace simba::chaos
