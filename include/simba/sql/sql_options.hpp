#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "simba/core/runtime.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::sql {

/// Whether the table may be made where it is missing.
enum class Schema {
  create,  ///< made at the first connection
  expect,  ///< its absence is an error that names the file with the statements
};

/// What the SQL stores have in common. An aggregate: set what you need, the rest has defaults.
struct SqlOptions {
  /// Among them `initial_delay`, `ttl` and `transition`.
  engine::ContentionOptions contention{};

  /// How long a change stays unnoticed at most when no hint of it comes, as long as the database
  /// answers. One statement looks at all mutexes that are waited for or observed. Derived: 100 ms
  /// on MySQL, which has no push; 1 s where the database or the file system tells of changes.
  std::optional<std::chrono::milliseconds> poll_interval{};

  /// Connections, each with a thread, that carry out the requests of all mutexes.
  /// Derived: 2; on SQLite, which has one writer at a time, 1.
  std::optional<std::size_t> pool_size{};

  std::chrono::milliseconds connect_timeout{2'000};

  /// A statement without an answer counts as failed, and its connection as broken, after this time.
  /// Derived: the request time-out of `contention`.
  std::optional<std::chrono::milliseconds> statement_timeout{};

  Schema schema = Schema::create;

  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
};

}  // namespace simba::sql
