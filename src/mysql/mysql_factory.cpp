#include "simba/mysql/mysql_factory.hpp"

#include <utility>

#include "mysql/admin/inspector.hpp"
#include "mysql/database.hpp"
#include "mysql/settings.hpp"
#include "simba/core/error.hpp"
#include "simba/mysql/mysql_admin.hpp"
#include "sql/admin/sql_admin.hpp"
#include "sql/sql_plan.hpp"
#include "sql/sql_store.hpp"

namespace simba::mysql {
namespace {

constexpr sql::SqlDefaults defaults{.poll_interval = default_poll_interval,
                                    .pool_size = default_pool_size,
                                    .pause_per_mutex = sql::pause_without_hints};

std::shared_ptr<sql::Database> database_of(const MySqlOptions& options, const Runtime& runtime) {
  return std::make_shared<MySqlDatabase>(Settings{options}, runtime.log);
}

void need_runtime(MySqlOptions& options) {
  if (!options.sql.runtime) options.sql.runtime = make_runtime();
}

}  // namespace

std::unique_ptr<MutexServiceFactory> make_mysql_factory(MySqlOptions options) {
  need_runtime(options);
  return sql::make_sql_factory(database_of(options, *options.sql.runtime), options.sql, defaults);
}

std::shared_ptr<engine::LeaseStore> make_mysql_store(const MySqlOptions& options,
                                                     std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a MySQL store needs a runtime"};
  auto database = database_of(options, *runtime);
  return sql::make_sql_store(std::move(database), options.sql, defaults, std::move(runtime));
}

std::unique_ptr<sql::MutexOwnerRepository> make_mysql_repository(MySqlOptions options) {
  need_runtime(options);
  return sql::make_sql_repository(database_of(options, *options.sql.runtime), options.sql,
                                  defaults);
}

std::unique_ptr<engine::StoreAdmin> make_mysql_admin(const MySqlOptions& options,
                                                     std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a MySQL store needs a runtime"};
  auto database = [options, runtime](sql::Schema schema) {
    MySqlOptions with_schema = options;
    with_schema.sql.schema = schema;
    return database_of(with_schema, *runtime);
  };
  auto inspector = std::make_unique<MySqlInspector>(
      Settings{options}, sql::SqlPlan{options.sql, defaults}.connect_timeout);
  return sql::make_sql_admin(std::move(inspector), std::move(database), options.sql, defaults,
                             runtime->log);
}

}  // namespace simba::mysql
