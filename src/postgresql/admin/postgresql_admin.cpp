#include "simba/postgresql/postgresql_admin.hpp"

#include <utility>

#include "postgresql/admin/table_inspector.hpp"
#include "postgresql/database.hpp"
#include "simba/core/error.hpp"
#include "sql/admin/sql_admin.hpp"
#include "sql/sql_plan.hpp"

namespace simba::postgresql {
namespace {

std::shared_ptr<sql::Database> database_of(PostgreSqlOptions options, sql::Schema schema,
                                           const Runtime& runtime) {
  options.sql.schema = schema;
  return std::make_shared<PostgreSqlDatabase>(options, runtime.log);
}

}  // namespace

std::unique_ptr<engine::StoreAdmin> make_postgresql_admin(const PostgreSqlOptions& options,
                                                          std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a PostgreSQL store needs a runtime"};
  const sql::SqlDefaults defaults{};
  const sql::SqlPlan plan{options.sql, defaults};
  sql::SqlAdminParts parts{.inspector = {},
                           .expecting = database_of(options, sql::Schema::expect, *runtime),
                           .creating = database_of(options, sql::Schema::create, *runtime)};
  parts.inspector =
      std::make_unique<PostgreSqlInspector>(options, plan.connect_timeout, plan.statement_timeout);
  return sql::make_sql_admin(std::move(parts), options.sql, defaults);
}

}  // namespace simba::postgresql
