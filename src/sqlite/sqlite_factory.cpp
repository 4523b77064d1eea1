#include "simba/sqlite/sqlite_factory.hpp"

#include <utility>

#include "simba/core/error.hpp"
#include "sql/sql_store.hpp"
#include "sqlite/database.hpp"
#include "sqlite/database_path.hpp"

namespace simba::sqlite {
namespace {

// One writer at a time: a second connection would only wait for the first.
constexpr sql::SqlDefaults defaults{
    .poll_interval = std::chrono::seconds{1}, .pool_size = 1, .sees_gone_owners = true};

std::shared_ptr<sql::Database> make_database(const SqliteOptions& options,
                                             const std::shared_ptr<const Runtime>& runtime) {
  auto path = database_path(options);
  if (!runtime) throw InvalidArgumentError{"an SQLite store needs a runtime"};
  return std::make_shared<SqliteDatabase>(std::move(path), options.child_processes,
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

}  // namespace simba::sqlite
