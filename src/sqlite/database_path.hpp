#pragma once

#include <filesystem>

#include "simba/sqlite/sqlite_factory.hpp"

namespace simba::sqlite {

/// Where the database is, absolute and with links followed, as far as it exists. SQLite names its
/// files beside the one that a link leads to; so must we.
///
/// Throws InvalidArgumentError where the options name no file.
std::filesystem::path database_path(const SqliteOptions& options);

}  // namespace simba::sqlite
