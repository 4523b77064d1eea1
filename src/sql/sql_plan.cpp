#include "sql/sql_plan.hpp"

#include "core/checks.hpp"

namespace simba::sql {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_connections = 64;

}  // namespace

SqlPlan::SqlPlan(const SqlOptions& options, const SqlDefaults& defaults)
    : poll_interval{detail::in_bounds("poll_interval",
                                      options.poll_interval.value_or(defaults.poll_interval),
                                      milliseconds{10})},
      pool_size{detail::in_bounds<std::size_t>(
          "pool_size", options.pool_size.value_or(defaults.pool_size), 1, most_connections)},
      connect_timeout{
          detail::in_bounds("connect_timeout", options.connect_timeout, milliseconds{1})},
      statement_timeout{detail::in_bounds(
          "statement_timeout",
          options.statement_timeout.value_or(ContentionPlan{options.contention}.request_timeout),
          milliseconds{1})},
      sees_gone_owners{defaults.sees_gone_owners},
      pause_per_mutex{defaults.pause_per_mutex} {}

}  // namespace simba::sql
