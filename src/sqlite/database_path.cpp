#include "sqlite/database_path.hpp"

#include <system_error>

#include "simba/core/error.hpp"

namespace simba::sqlite {

std::filesystem::path database_path(const SqliteOptions& options) {
  if (options.path.empty()) throw InvalidArgumentError{"an SQLite store needs a path"};
  if (options.path == ":memory:") {
    throw InvalidArgumentError{
        "a database in memory lives inside one process, so it excludes nobody; name a file, or "
        "./:memory: where the file is really called so"};
  }
  if (!options.path.has_filename()) {
    throw InvalidArgumentError{"the path of an SQLite store must name a file, not a folder: " +
                               options.path.string()};
  }
  std::error_code unresolved;
  const auto absolute = std::filesystem::absolute(options.path);
  auto path = std::filesystem::weakly_canonical(absolute, unresolved);
  return unresolved ? absolute : path;
}

}  // namespace simba::sqlite
