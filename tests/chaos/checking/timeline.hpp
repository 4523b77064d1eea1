#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chaos/checking/checker.hpp"
#include "chaos/faults/fault.hpp"

namespace simba::chaos {

struct TimelineSettings {
  std::string title{};
  std::int64_t begin = 0;  ///< nanoseconds of CLOCK_MONOTONIC
  std::int64_t end = 0;
  int lanes = 0;  ///< contenders
  int jvm = 0;    ///< of them, the last ones: of the JVM library
};

/// A page that shows who owned each mutex when, and what was done to whom. It needs nothing else.
/// Long rounds are shown in strips of half a minute, one below the other.
std::string timeline_page(const TimelineSettings& settings, const std::vector<Evidence>& evidence,
                          const std::vector<FaultSpan>& faults);

}  // namespace simba::chaos
