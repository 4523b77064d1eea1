#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

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

  /// How often what is watched is looked at by time alone; empty: there are hints, and all of it is
  /// looked at each poll interval.
  std::optional<LookRate> looks() const noexcept {
    if (pause_per_mutex.count() == 0) return std::nullopt;
    return LookRate{
        .interval = poll_interval, .mutexes = most_at_once, .per = pause_per_mutex * most_at_once};
  }

  /// How many statements look at so many mutexes that are watched.
  std::size_t parts(std::size_t watched) const noexcept {
    return looks() ? (watched + most_at_once - 1) / most_at_once : 1;
  }

  /// How long it takes until each of them has been looked at.
  std::chrono::nanoseconds round(std::size_t watched) const noexcept {
    const auto rate = looks();
    return rate ? rate->interval_for(watched) : poll_interval;
  }
};

}  // namespace simba::sql
