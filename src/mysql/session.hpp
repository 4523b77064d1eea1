#pragma once

#include <memory>
#include <string>
#include <string_view>
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

  std::vector<sql::Row> change(sql::Change change, std::span<const sql::Ask> asks,
                               LocalTime deadline) override;
  std::vector<sql::Row> look(std::span<const std::string> mutexes, LocalTime deadline) override;
  bool init(const std::string& mutex, LocalTime deadline) override;

  std::vector<sql::FoundRecord> read_records(std::span<const std::string> mutexes,
                                             LocalTime deadline) override;
  RecordAnswer write_record(const sql::RecordAsk& ask, LocalTime deadline) override;

  bool usable() noexcept override { return connection_.alive(); }

 private:
  void connect(LocalTime deadline);
  void set_up(LocalTime deadline);
  void check_table(LocalTime deadline);
  void make_table(LocalTime deadline);

  Reply ask(std::string_view text, LocalTime deadline);
  Reply must(std::string_view text, LocalTime deadline, std::size_t change_is = 1);
  [[noreturn]] void refuse(const Refusal& refusal, Phase phase);

  std::vector<sql::Row> change_rows(sql::Change change, std::span<const sql::Ask> asks,
                                    LocalTime deadline);
  std::vector<sql::Row> acquire(std::span<const sql::Ask> asks, LocalTime deadline);
  Reply must_for_record(std::string_view text, LocalTime deadline, std::size_t change_is);
  void make_record_table(LocalTime deadline);
  Error name_taken(const std::string& mutex, LocalTime deadline);

  /// One of the connections that the server may have of this process.
  class Place {
   public:
    Place(Server& server, const Connection& connection);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// See Server::arrived.
    void arrived(std::string identity);

   private:
    Server& server_;
    const Connection& connection_;
    std::string identity_{};
  };

  const std::shared_ptr<Server> server_;
  const sql::Wakeup& closing_;
  Connection connection_;
  Place place_;
};

}  // namespace simba::mysql
