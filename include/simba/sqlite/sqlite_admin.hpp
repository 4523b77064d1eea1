#pragma once

#include <memory>

#include "simba/engine/store_admin.hpp"
#include "simba/sqlite/sqlite_factory.hpp"

namespace simba::sqlite {

/// What tools do with an SQLite store. Creating it does not open the file; each function opens it
/// when it needs to. Only `init` creates the file or its tables.
///
/// `examine` reports a file that cannot be used as a problem and does not throw.
///
/// Throws InvalidArgumentError if an option is out of bounds or two contradict each other.
std::unique_ptr<engine::StoreAdmin> make_sqlite_admin(const SqliteOptions& options,
                                                      std::shared_ptr<const Runtime> runtime);

}  // namespace simba::sqlite
