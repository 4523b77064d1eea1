#pragma once

#include <memory>

#include "simba/engine/store_admin.hpp"
#include "simba/mysql/mysql_factory.hpp"

namespace simba::mysql {

/// What tools do with a MySQL store. Does not connect: each function does so when it needs to.
///
/// It takes no rights beyond those of the store: SELECT for `list` and `find`, UPDATE for `evict`,
/// and CREATE for `init`. Only `init` makes the table.
///
/// Throws InvalidArgumentError where the options contradict each other.
std::unique_ptr<engine::StoreAdmin> make_mysql_admin(const MySqlOptions& options,
                                                     std::shared_ptr<const Runtime> runtime);

}  // namespace simba::mysql
