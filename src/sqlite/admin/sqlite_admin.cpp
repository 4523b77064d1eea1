#include "simba/sqlite/sqlite_admin.hpp"

#include <utility>

#include "simba/core/error.hpp"
#include "sql/admin/sql_admin.hpp"
#include "sql/sql_plan.hpp"
#include "sqlite/admin/file_inspector.hpp"
#include "sqlite/database.hpp"
#include "sqlite/database_path.hpp"

namespace simba::sqlite {

std::unique_ptr<engine::StoreAdmin> make_sqlite_admin(const SqliteOptions& options,
                                                      std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"an SQLite store needs a runtime"};
  const auto path = database_path(options);
  const auto database = [&](sql::Schema schema) {
    return std::make_shared<SqliteDatabase>(path, options.child_processes, schema, runtime->log);
  };
  const sql::SqlDefaults defaults{.pool_size = 1};
  const sql::SqlPlan plan{options.sql, defaults};
  sql::SqlAdminParts parts{
      .inspector = std::make_unique<FileInspector>(path, options.sql.schema, plan.connect_timeout),
      .expecting = database(sql::Schema::expect),
      .creating = database(sql::Schema::create)};
  return sql::make_sql_admin(std::move(parts), options.sql, defaults);
}

}  // namespace simba::sqlite
