#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simba/sql/sql_options.hpp"
#include "sql/database.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/host_clock.hpp"
#include "sqlite/liveness.hpp"
#include "sqlite/statements.hpp"

namespace simba::sqlite {

/// A connection with the statements of the store. An owner whose process is gone is shown as none,
/// and its mutex may be taken.
class SqliteSession final : public sql::Session {
 public:
  /// The table exists. Makes the clock of this boot the database's clock, which frees all mutexes
  /// of an earlier one. The table of records is made at the first need of it, if `schema` says so.
  SqliteSession(std::unique_ptr<Connection> connection, std::shared_ptr<const Liveness> liveness,
                HostClock clock, sql::Schema schema);

  std::vector<sql::Row> change(sql::Change change, std::span<const sql::Ask> asks,
                               LocalTime deadline) override;
  std::vector<sql::Row> look(std::span<const std::string> mutexes, LocalTime deadline) override;
  bool init(const std::string& mutex, LocalTime deadline) override;
  std::vector<sql::FoundRecord> read_records(std::span<const std::string> mutexes,
                                             LocalTime deadline) override;
  RecordAnswer write_record(const sql::RecordAsk& ask, LocalTime deadline) override;
  bool usable() noexcept override { return usable_ && connection_->is_sound(); }

 private:
  /// A row as it is stored.
  struct Found {
    sql::Row row;
    std::string liveness;
  };

  /// Of the owner of a row that is to be acquired, where its process is known to be gone, or to be
  /// another one that is alive and uses the same contender id.
  struct Marks {
    std::string gone{};
    std::string alive{};
  };

  struct RecordStatements {
    explicit RecordStatements(Connection& connection)
        : read{connection, statements::read_records}, write{connection, statements::write_record} {}
    Statement read;
    Statement write;
  };

  enum class Durability { at_once, soon };

  std::int64_t now() const;
  void begin_clock();
  bool read_offset();
  void check_clock();
  void set_durability(Durability durability);
  bool is_gone(const Found& found) const;
  bool is_alive_elsewhere(const Found& found, const sql::Ask& ask) const;
  bool may_take(const Found& found, const sql::Ask& ask) const;
  std::vector<Found> read(std::span<const std::string> mutexes);
  std::vector<sql::Row> shown(std::vector<Found> found) const;
  /// The row, if it was changed.
  std::optional<Found> run_change(sql::Change change, const sql::Ask& ask, const Marks& marks);
  std::optional<Found> result_of(Statement& statement) const;
  /// Throws Error `configuration` where a number is none, as a stranger may have written it.
  Found found_in(Statement& statement) const;
  RecordStatements& record_statements();
  std::vector<sql::FoundRecord> find_records(std::span<const std::string> mutexes);

  const std::unique_ptr<Connection> connection_;
  const std::shared_ptr<const Liveness> liveness_;
  const HostClock clock_;
  const sql::Schema schema_;
  Statement acquire_;
  Statement guard_;
  Statement release_;
  Statement look_;
  Statement look_at_many_;
  Statement init_;
  Statement read_clock_;
  std::optional<RecordStatements> records_{};  // once the table was needed
  std::int64_t epoch_offset_ = 0;
  Durability durability_ = Durability::at_once;
  bool usable_ = true;
};

}  // namespace simba::sqlite
