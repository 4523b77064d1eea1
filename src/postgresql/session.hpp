#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postgresql/connection.hpp"
#include "simba/core/log.hpp"
#include "simba/sql/sql_options.hpp"
#include "sql/database.hpp"

namespace simba::postgresql {

/// Which table all sessions of a database use: the one that the first of them has found, whatever
/// the search path would lead to later.
///
/// Threads: every function may be called from any thread at the same time.
class ChosenTable {
 public:
  ChosenTable(sql::Schema schema, std::shared_ptr<Logger> log)
      : may_be_made_{schema == sql::Schema::create}, log_{std::move(log)} {}

  bool may_be_made() const noexcept { return may_be_made_; }

  /// Its qualified name; empty: none is chosen yet.
  std::string name() const;

  /// Chooses another one. False: another session has chosen since the name was `before`.
  bool replace(const std::string& before, const std::string& name);

  /// Logs a warning, unless it is the same as the last.
  void warn(const std::string& text);

 private:
  const bool may_be_made_;
  const std::shared_ptr<Logger> log_;
  mutable std::mutex mutex_;
  // guarded by mutex_
  std::string name_;
  std::string warned_;
};

/// One connection for statements. They depend on no state on the server, so a pooler may give it
/// another server connection for each.
class PostgreSqlSession final : public sql::Session {
 public:
  /// Connects, and makes the table if `table` says so. `closing` outlives the session.
  PostgreSqlSession(std::shared_ptr<const ConnectSettings> settings,
                    std::shared_ptr<ChosenTable> table, LocalTime deadline,
                    const sql::Wakeup& closing);

  std::vector<sql::Row> change(sql::Change change, std::span<const sql::Ask> asks,
                               LocalTime deadline) override;
  std::vector<sql::Row> look(std::span<const std::string> mutexes, LocalTime deadline) override;
  bool init(const std::string& mutex, LocalTime deadline) override;
  std::vector<sql::FoundRecord> read_records(std::span<const std::string> mutexes,
                                             LocalTime deadline) override;
  RecordAnswer write_record(const sql::RecordAsk& ask, LocalTime deadline) override;
  bool usable() noexcept override { return connection_.usable(); }

 private:
  /// The statements on its table.
  struct Statements {
    Statements() = default;
    explicit Statements(const std::string& table);
    std::string acquire;
    std::string guard;
    std::string release;
    std::string look;
    std::string init;
  };

  /// Those on records, whose table is looked for when one is needed.
  struct RecordStatements {
    std::string read;
    std::string write;
  };

  Result run(const char* statement, std::span<const Parameter> parameters, LocalTime deadline);
  Result run_prepared(const std::string& statement, std::span<const Parameter> parameters,
                      LocalTime deadline);
  Result attempt(const std::string& statement, std::span<const Parameter> parameters,
                 LocalTime deadline);
  Result execute_on_records(std::string RecordStatements::*statement,
                            std::span<const Parameter> parameters, LocalTime deadline);
  void choose_record_table(LocalTime deadline);
  bool find_record_table(const std::string& table, LocalTime deadline);
  Result execute(const std::string& statement, std::span<const Parameter> parameters,
                 LocalTime deadline);
  std::vector<sql::Row> change_once(sql::Change change, std::span<const sql::Ask> asks,
                                    LocalTime deadline);
  void ask_to_notice_our_end(LocalTime deadline);
  std::string choose_table(LocalTime deadline);
  std::string find_table(const std::string& chosen, LocalTime deadline);
  void make_table(std::string_view statement, std::string_view name, const std::string& qualified,
                  LocalTime deadline);

  const std::shared_ptr<ChosenTable> table_;
  const sql::Wakeup& closing_;
  Connection connection_;
  std::string chosen_{};  // the qualified name of its table
  Statements statements_{};
  RecordStatements record_statements_{};  // empty until needed

  // Prepared statements need no parsing and planning, which take most of a statement's time, but
  // belong to the server's session. Behind a pooler that shares sessions they are not used; where
  // one shows up unannounced, no longer.
  bool prepares_;
  std::set<std::string> prepared_{};  // names on the server
};

}  // namespace simba::postgresql
