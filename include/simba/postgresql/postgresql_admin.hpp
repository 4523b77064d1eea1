#pragma once

#include <memory>

#include "simba/engine/store_admin.hpp"
#include "simba/postgresql/postgresql_factory.hpp"

namespace simba::postgresql {

/// What tools do with a PostgreSQL store. Does not connect: each function does so when it needs to.
///
/// It takes no rights beyond those of the store: SELECT for `list` and `find`, UPDATE for `evict`,
/// and CREATE on the schema for `init`. Only `init` makes the table.
///
/// Throws InvalidArgumentError where the options contradict each other.
std::unique_ptr<engine::StoreAdmin> make_postgresql_admin(const PostgreSqlOptions& options,
                                                          std::shared_ptr<const Runtime> runtime);

}  // namespace simba::postgresql
