#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/sql/mutex_owner_repository.hpp"
#include "simba/sql/sql_options.hpp"
#include "sql/database.hpp"

namespace simba::sql {

/// What a product uses where the options are silent.
struct SqlDefaults {
  std::chrono::milliseconds poll_interval{1'000};
  std::size_t pool_size = 2;
  bool sees_gone_owners = false;  ///< whether a mutex is free once its owner's process is gone

  /// Of a product without hints: what is watched is looked at at most so often, once in this time
  /// for each mutex. Zero: there are hints, and all of it is looked at each poll interval.
  std::chrono::microseconds pause_per_mutex{0};
};

/// A look costs a server up to 7 us of CPU for each mutex: with this pause the looks of one process
/// take less than 2 % of a core, however many it waits for.
inline constexpr std::chrono::microseconds pause_without_hints{400};

/// The lease store over a database. Throws InvalidArgumentError where an option is out of bounds.
std::shared_ptr<engine::LeaseStore> make_sql_store(std::shared_ptr<Database> database,
                                                   const SqlOptions& options,
                                                   const SqlDefaults& defaults,
                                                   std::shared_ptr<const Runtime> runtime);

/// `options.runtime` must be set.
std::unique_ptr<MutexServiceFactory> make_sql_factory(std::shared_ptr<Database> database,
                                                      const SqlOptions& options,
                                                      const SqlDefaults& defaults);

/// `options.runtime` must be set.
std::unique_ptr<MutexOwnerRepository> make_sql_repository(std::shared_ptr<Database> database,
                                                          const SqlOptions& options,
                                                          const SqlDefaults& defaults);

}  // namespace simba::sql
