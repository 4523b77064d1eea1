#include "simba/postgresql/postgresql_factory.hpp"

#include <chrono>
#include <utility>

#include "postgresql/admin/inspector.hpp"
#include "postgresql/database.hpp"
#include "simba/core/error.hpp"
#include "simba/postgresql/postgresql_admin.hpp"
#include "sql/admin/sql_admin.hpp"
#include "sql/sql_plan.hpp"
#include "sql/sql_store.hpp"

namespace simba::postgresql {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<sql::Database> database_of(const PostgreSqlOptions& options,
                                           const Runtime& runtime) {
  return std::make_shared<PostgreSqlDatabase>(options, runtime.log);
}

/// With LISTEN a look at the rows is a safety net; without it is the only way to notice a change.
sql::SqlDefaults defaults_of(const PostgreSqlOptions& options) {
  if (options.listen == Listen::yes) return {.poll_interval = 1s, .pool_size = 2};
  return {.poll_interval = 100ms, .pool_size = 2, .pause_per_mutex = sql::pause_without_hints};
}

}  // namespace

std::unique_ptr<MutexServiceFactory> make_postgresql_factory(PostgreSqlOptions options) {
  if (!options.sql.runtime) options.sql.runtime = make_runtime();
  return sql::make_sql_factory(database_of(options, *options.sql.runtime), options.sql,
                               defaults_of(options));
}

std::shared_ptr<engine::LeaseStore> make_postgresql_store(const PostgreSqlOptions& options,
                                                          std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a PostgreSQL store needs a runtime"};
  auto database = database_of(options, *runtime);
  return sql::make_sql_store(std::move(database), options.sql, defaults_of(options),
                             std::move(runtime));
}

std::unique_ptr<sql::MutexOwnerRepository> make_postgresql_repository(PostgreSqlOptions options) {
  if (!options.sql.runtime) options.sql.runtime = make_runtime();
  return sql::make_sql_repository(database_of(options, *options.sql.runtime), options.sql,
                                  defaults_of(options));
}

std::unique_ptr<engine::StoreAdmin> make_postgresql_admin(const PostgreSqlOptions& options,
                                                          std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a PostgreSQL store needs a runtime"};
  auto database = [options, runtime](sql::Schema schema) {
    PostgreSqlOptions with_schema = options;
    with_schema.sql.schema = schema;
    return database_of(with_schema, *runtime);
  };
  const sql::SqlPlan plan{options.sql, defaults_of(options)};
  auto inspector =
      std::make_unique<PostgreSqlInspector>(options, plan.connect_timeout, plan.statement_timeout);
  return sql::make_sql_admin(std::move(inspector), std::move(database), options.sql,
                             defaults_of(options), runtime->log);
}

}  // namespace simba::postgresql
