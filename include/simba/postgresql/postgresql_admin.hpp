#pragma once

#include <memory>

#include "simba/engine/store_admin.hpp"
#include "simba/postgresql/postgresql_factory.hpp"

namespace simba::postgresql {

/// What tools do with a PostgreSQL store. Creating it does not connect; each function connects when
/// it needs to.
///
/// It needs no permissions beyond those of the store: SELECT for `list` and `find`, UPDATE for
/// `evict`, and CREATE on the schema for `init`. Only `init` creates the table.
///
/// Throws InvalidArgumentError if an option is out of bounds or two contradict each other.
std::unique_ptr<engine::StoreAdmin> make_postgresql_admin(const PostgreSqlOptions& options,
                                                          std::shared_ptr<const Runtime> runtime);

}  // namespace simba::postgresql
