#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "postgresql/connection.hpp"
#include "simba/sql/sql_options.hpp"
#include "sql/database.hpp"

namespace simba::postgresql {

/// What all sessions of a database know of the table, so that only the first one looks for it.
///
/// Threads: may be used from any thread.
struct TableState {
  explicit TableState(sql::Schema schema) : may_be_made{schema == sql::Schema::create} {}

  const bool may_be_made;
  std::atomic<bool> found{false};
};

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
  Result execute(const char* statement, std::span<const Parameter> parameters, LocalTime deadline);
  std::vector<sql::Row> change_once(sql::Change change, std::span<const sql::Ask> asks,
                                    LocalTime deadline);
  void ask_to_notice_our_end(LocalTime deadline);
  void ensure_table(LocalTime deadline);
  bool find_table(LocalTime deadline);
  void make_table(LocalTime deadline);

  const std::shared_ptr<TableState> table_;
  const sql::Wakeup& closing_;
  Connection connection_;

  // Prepared statements need no parsing and planning, which take most of a statement's time, but
  // belong to the server's session. Behind a pooler that shares sessions they are not used; where
  // one shows up unannounced, no longer.
  bool prepares_;
  std::set<std::string> prepared_{};  // names on the server
};

}  // namespace simba::postgresql
