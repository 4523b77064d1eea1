#include "sql/sql_plan.hpp"

#include <string_view>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::sql {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_setting = std::chrono::hours{1};
constexpr std::size_t most_connections = 64;

milliseconds checked(std::string_view what, milliseconds value, milliseconds least) {
  if (value < least || value > longest_setting) {
    throw InvalidArgumentError{fmt::format("{} must be between {} ms and {} ms (got {} ms)", what,
                                           least.count(), longest_setting.count(), value.count())};
  }
  return value;
}

std::size_t checked_pool_size(std::size_t value) {
  if (value < 1 || value > most_connections) {
    throw InvalidArgumentError{
        fmt::format("pool_size must be between 1 and {} (got {})", most_connections, value)};
  }
  return value;
}

}  // namespace

SqlPlan::SqlPlan(const SqlOptions& options, const SqlDefaults& defaults)
    : poll_interval{checked("poll_interval", options.poll_interval.value_or(defaults.poll_interval),
                            milliseconds{10})},
      pool_size{checked_pool_size(options.pool_size.value_or(defaults.pool_size))},
      connect_timeout{checked("connect_timeout", options.connect_timeout, milliseconds{1})},
      statement_timeout{checked("statement_timeout",
                                options.statement_timeout.value_or(
                                    engine::ContentionPlan{options.contention}.request_timeout),
                                milliseconds{1})},
      sees_gone_owners{defaults.sees_gone_owners} {}

}  // namespace simba::sql
