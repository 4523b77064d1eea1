#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "postgresql/admin/table_state.hpp"
#include "postgresql/connection.hpp"
#include "postgresql/prepared_names.hpp"
#include "sql/database.hpp"

namespace simba::postgresql {

/// One connection for statements. They depend on no state on the server, so a pooler may give it
/// another server connection for each.
class PostgreSqlSession final : public sql::Session {
 public:
  /// Connects, and makes the table if `table` says so. `closing` outlives the session.
  PostgreSqlSession(std::shared_ptr<const ConnectSettings> settings,
                    std::shared_ptr<TableState> table, LocalTime deadline,
                    const sql::Wakeup& closing);

  std::vector<sql::Row> change(sql::Change change, std::span<const sql::Ask> asks,
                               LocalTime deadline) override;
  std::vector<sql::Row> look(std::span<const std::string> mutexes, LocalTime deadline) override;
  bool init(const std::string& mutex, LocalTime deadline) override;
  bool usable() noexcept override { return connection_.usable(); }

 private:
  Result run(const char* statement, std::span<const Parameter> parameters, LocalTime deadline);
  Result run_prepared(const char* statement, std::span<const Parameter> parameters,
                      LocalTime deadline);
  Result finish(LocalTime deadline);
  Result execute(const char* statement, std::span<const Parameter> parameters, LocalTime deadline);
  std::vector<sql::Row> change_once(sql::Change change, std::span<const sql::Ask> asks,
                                    LocalTime deadline);
  void ask_to_notice_our_end(LocalTime deadline);
  void ensure_table(LocalTime deadline);
  void make_table(LocalTime deadline);

  const std::shared_ptr<TableState> table_;
  const sql::Wakeup& closing_;
  Connection connection_;
  PreparedNames prepared_;
};

}  // namespace simba::postgresql
