#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "simba/engine/contention_options.hpp"
#include "simba/sql/sql_options.hpp"
#include "sql/sql_store.hpp"

namespace simba::sql {

/// The options of a store with everything derived and checked. Constant.
struct SqlPlan {
  /// Throws InvalidArgumentError naming the value and its bound.
  SqlPlan(const SqlOptions& options, const SqlDefaults& defaults);

  std::chrono::milliseconds poll_interval;
  std::size_t pool_size;
  std::chrono::milliseconds connect_timeout;
  std::chrono::milliseconds statement_timeout;
  bool sees_gone_owners;
  std::chrono::microseconds pause_per_mutex;

  /// The most mutexes of a part.
  static constexpr std::size_t most_at_once = 250;

  /// How many statements look at so many mutexes that are watched: one, unless there is a pause for
  /// each mutex.
  std::size_t parts(std::size_t watched) const noexcept {
    return pause_per_mutex.count() > 0 ? (watched + most_at_once - 1) / most_at_once : 1;
  }

  /// How long it takes until each of them has been looked at. Of several parts each counts as full,
  /// so that a few mutexes more do not mean twice the statements.
  std::chrono::nanoseconds round(std::size_t watched) const noexcept {
    const std::size_t counted = parts(watched) > 1 ? parts(watched) * most_at_once : watched;
    return std::max<std::chrono::nanoseconds>(poll_interval,
                                              pause_per_mutex * static_cast<std::int64_t>(counted));
  }
};

}  // namespace simba::sql
