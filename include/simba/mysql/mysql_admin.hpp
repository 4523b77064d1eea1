#pragma once

#include <memory>

#include "simba/engine/store_admin.hpp"
#include "simba/mysql/mysql_factory.hpp"

namespace simba::mysql {

/// What tools do with a MySQL store. Creating it does not connect; each function connects when it
/// needs to.
///
/// It needs no permissions beyond those of the store: SELECT for `list` and `find`, UPDATE for
/// `evict`, and CREATE for `init`. Only `init` creates the table.
///
/// Throws InvalidArgumentError if an option is out of bounds or two contradict each other.
std::unique_ptr<engine::StoreAdmin> make_mysql_admin(const MySqlOptions& options,
                                                     std::shared_ptr<const Runtime> runtime);

}  // namespace simba::mysql
