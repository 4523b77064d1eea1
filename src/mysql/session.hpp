#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mysql/connection.hpp"
#include "mysql/server.hpp"
#include "sql/database.hpp"

namespace simba::mysql {

/// A session on MySQL or MariaDB. See `statements` for what it says.
class MySqlSession final : public sql::Session {
 public:
  /// Connects, sets the session up, and makes the table where it is missing and may be made.
  MySqlSession(std::shared_ptr<Server> server, LocalTime deadline, const sql::Wakeup& closing);
  ~MySqlSession() override;
  MySqlSession(const MySqlSession&) = delete;
  MySqlSession& operator=(const MySqlSession&) = delete;

  std::vector<sql::Row> change(sql::Change change, std::span<const sql::Ask> asks,
                               LocalTime deadline) override;
  std::vector<sql::Row> look(std::span<const std::string> mutexes, LocalTime deadline) override;
  bool init(const std::string& mutex, LocalTime deadline) override;

  /// Tells who waits inside the server for what was released, and ends a wait of this process for
  /// what was acquired.
  void after(sql::Change change, std::span<const sql::Row> rows) noexcept override;

  bool usable() noexcept override { return connection_.alive(); }

 private:
  void connect(LocalTime deadline);
  void check_table(LocalTime deadline);
  void make_table(LocalTime deadline);
  void check_number(const Reply& reply);
  void lock_session(LocalTime deadline);

  Reply ask(std::string_view text, LocalTime deadline);
  Reply must(std::string_view text, LocalTime deadline, std::size_t change_is = 1);
  [[noreturn]] void refuse(const Refusal& refusal, Phase phase);

  std::vector<sql::Row> change_rows(sql::Change change, std::span<const sql::Ask> asks,
                                    LocalTime deadline);
  std::vector<sql::Row> acquire(std::span<const sql::Ask> asks, LocalTime deadline);
  std::vector<sql::Row> release(std::span<const sql::Ask> asks, LocalTime deadline);
  Error name_taken(const std::string& mutex, LocalTime deadline);
  std::vector<std::uint64_t> waits_to_end(sql::Change change, std::span<const sql::Row> rows) const;

  const std::shared_ptr<Server> server_;
  const sql::Wakeup& closing_;
  Connection connection_;
  std::uint64_t serial_ = 0;  // of those that hold a lock of their own; 0: it holds none

  // Of the last release: which connection waits for which mutex.
  std::vector<std::pair<std::string, std::uint64_t>> waiters_{};
  // Of the last acquisition: the mutexes that it got.
  std::set<std::string> granted_{};
};

}  // namespace simba::mysql
