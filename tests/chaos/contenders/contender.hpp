#pragma once

#include <cstdint>
#include <string>

#include "chaos/round_files.hpp"

namespace simba::chaos {

struct ContenderSettings {
  RoundFiles files;
  Incarnation which{};
  std::uint64_t seed = 0;
  std::string url;
};

/// A contender's process: fights for both mutexes, uses what they protect and writes its records,
/// until SIGTERM or the end of the process that started it. It is started with SIGTERM, SIGINT and
/// SIGHUP blocked. Returns its exit code; 0: it has given back everything in order.
int run_contender(const ContenderSettings& settings);

}  // namespace simba::chaos
