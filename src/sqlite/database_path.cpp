#include "sqlite/database_path.hpp"

#include <system_error>

#include "simba/core/error.hpp"

namespace simba::sqlite {

std::filesystem::path database_path(const SqliteOptions& options) {
  if (options.path.empty()) throw InvalidArgumentError{"an SQLite store needs a path"};
  if (options.path == ":memory:") {
    throw InvalidArgumentError{
        "an in-memory database lives inside one process, so it cannot exclude others; use a file, "
        "or ./:memory: if the file is really called that"};
  }
  if (!options.path.has_filename()) {
    throw InvalidArgumentError{"path of an SQLite store must be a file, not a directory: " +
                               options.path.string()};
  }
  std::error_code unresolved;
  const auto absolute = std::filesystem::absolute(options.path);
  auto path = std::filesystem::weakly_canonical(absolute, unresolved);
  return unresolved ? absolute : path;
}

}  // namespace simba::sqlite
