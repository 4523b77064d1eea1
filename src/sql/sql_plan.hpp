#pragma once

#include <chrono>
#include <cstddef>

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
};

}  // namespace simba::sql
