#include "simba/sqlite/sqlite_factory.hpp"

#include <utility>

#include "simba/core/error.hpp"
#include "simba/sqlite/sqlite_admin.hpp"
#include "sql/admin/sql_admin.hpp"
#include "sql/sql_plan.hpp"
#include "sql/sql_store.hpp"
#include "sqlite/admin/inspector.hpp"
#include "sqlite/database.hpp"
#include "sqlite/place.hpp"

namespace simba::sqlite {
namespace {

// One writer at a time: a second connection would only wait for the first.
constexpr sql::SqlDefaults defaults{
    .poll_interval = std::chrono::seconds{1}, .pool_size = 1, .sees_gone_owners = true};

/// Throws InvalidArgumentError where the options name no file.
Place place_of(const SqliteOptions& options) {
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
  return {options.path, options.mode, options.file_system};
}

std::shared_ptr<sql::Database> make_database(const SqliteOptions& options,
                                             const std::shared_ptr<const Runtime>& runtime) {
  auto place = place_of(options);
  if (!runtime) throw InvalidArgumentError{"an SQLite store needs a runtime"};
  return std::make_shared<SqliteDatabase>(std::move(place), options.child_processes,
                                          options.sql.schema, runtime->log);
}

SqliteOptions with_runtime(SqliteOptions options) {
  if (!options.sql.runtime) options.sql.runtime = make_runtime();
  return options;
}

}  // namespace

std::shared_ptr<engine::LeaseStore> make_sqlite_store(const SqliteOptions& options,
                                                      std::shared_ptr<const Runtime> runtime) {
  auto database = make_database(options, runtime);
  return sql::make_sql_store(std::move(database), options.sql, defaults, std::move(runtime));
}

std::unique_ptr<MutexServiceFactory> make_sqlite_factory(SqliteOptions options) {
  options = with_runtime(std::move(options));
  return sql::make_sql_factory(make_database(options, options.sql.runtime), options.sql, defaults);
}

std::unique_ptr<sql::MutexOwnerRepository> make_sqlite_repository(SqliteOptions options) {
  options = with_runtime(std::move(options));
  return sql::make_sql_repository(make_database(options, options.sql.runtime), options.sql,
                                  defaults);
}

std::unique_ptr<engine::StoreAdmin> make_sqlite_admin(const SqliteOptions& options,
                                                      std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"an SQLite store needs a runtime"};
  auto database = [options, runtime](sql::Schema schema) {
    SqliteOptions with_schema = options;
    with_schema.sql.schema = schema;
    return make_database(with_schema, runtime);
  };
  auto inspector = std::make_unique<FileInspector>(
      place_of(options), options.sql.schema, sql::SqlPlan{options.sql, defaults}.connect_timeout);
  return sql::make_sql_admin(std::move(inspector), std::move(database), options.sql, defaults,
                             runtime->log);
}

}  // namespace simba::sqlite
