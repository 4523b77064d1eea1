#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "postgresql/admin/examination.hpp"
#include "postgresql/connection.hpp"
#include "postgresql/settings.hpp"
#include "sql/admin/sql_admin.hpp"

namespace simba::postgresql {

/// Looks at a PostgreSQL server and its table, on a connection of its own.
class PostgreSqlInspector final : public sql::TableInspector {
 public:
  PostgreSqlInspector(const PostgreSqlOptions& options, std::chrono::milliseconds connect_timeout,
                      std::chrono::milliseconds statement_timeout);

  bool has_table() override;
  void read_names(const std::function<void(std::string name)>& add) override;
  engine::StoreReport examine() override;

 private:
  TableText ask(const char* statement);
  std::string table();
  void connect();

  // constant after construction
  const std::shared_ptr<const ConnectSettings> settings_;
  const Listen listen_;
  const std::chrono::milliseconds connect_timeout_;
  const std::chrono::milliseconds statement_timeout_;
  const sql::Wakeup never_raised_{};

  std::unique_ptr<Connection> connection_{};
};

}  // namespace simba::postgresql
