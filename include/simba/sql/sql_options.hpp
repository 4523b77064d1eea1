#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "simba/core/runtime.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::sql {

/// Whether to create the table if it is missing.
enum class Schema {
  create,  ///< created at the first connection
  expect,  ///< a missing table is an error, which names the file with the statements
};

/// Options common to the SQL stores. An aggregate: set what you need; everything else has a
/// default.
struct SqlOptions {
  /// Includes `initial_delay`, `ttl` and `transition`.
  ContentionOptions contention{};

  /// How often to poll for changes: the longest time that a change goes unnoticed if no
  /// notification arrives. One statement polls all mutexes that are waited for or observed.
  /// Derived: 100 ms on MySQL, which has no notifications; 1 s if the database or the file system
  /// sends them.
  std::optional<std::chrono::milliseconds> poll_interval{};

  /// Number of connections, each with a thread, that execute the requests of all mutexes.
  /// Derived: 2; on SQLite, which has one writer at a time, 1.
  std::optional<std::size_t> pool_size{};

  std::chrono::milliseconds connect_timeout{2'000};

  /// A statement that is not answered within this time counts as failed, and its connection as
  /// broken. Derived: the request timeout of `contention`.
  std::optional<std::chrono::milliseconds> statement_timeout{};

  Schema schema = Schema::create;

  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
};

}  // namespace simba::sql
