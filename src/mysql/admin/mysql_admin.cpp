#include "simba/mysql/mysql_admin.hpp"

#include <utility>

#include "mysql/admin/table_inspector.hpp"
#include "mysql/database.hpp"
#include "mysql/settings.hpp"
#include "simba/core/error.hpp"
#include "sql/admin/sql_admin.hpp"
#include "sql/sql_plan.hpp"

namespace simba::mysql {
namespace {

std::shared_ptr<sql::Database> database_of(MySqlOptions options, sql::Schema schema,
                                           const Runtime& runtime) {
  options.sql.schema = schema;
  return std::make_shared<MySqlDatabase>(Settings{options}, runtime.log);
}

}  // namespace

std::unique_ptr<engine::StoreAdmin> make_mysql_admin(const MySqlOptions& options,
                                                     std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a MySQL store needs a runtime"};
  const sql::SqlDefaults defaults{.poll_interval = default_poll_interval,
                                  .pool_size = default_pool_size};
  sql::SqlAdminParts parts{.inspector = {},
                           .expecting = database_of(options, sql::Schema::expect, *runtime),
                           .creating = database_of(options, sql::Schema::create, *runtime)};
  parts.inspector = std::make_unique<MySqlInspector>(
      Settings{options}, sql::SqlPlan{options.sql, defaults}.connect_timeout);
  return sql::make_sql_admin(std::move(parts), options.sql, defaults);
}

}  // namespace simba::mysql
