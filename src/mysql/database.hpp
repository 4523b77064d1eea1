#pragma once

#include <memory>
#include <string>

#include "mysql/server.hpp"
#include "sql/database.hpp"

namespace simba::mysql {

/// A database of MySQL or MariaDB.
class MySqlDatabase final : public sql::Database {
 public:
  MySqlDatabase(Settings settings, std::shared_ptr<Logger> log);

  std::string_view name() const noexcept override { return name_; }
  std::unique_ptr<sql::Session> connect(LocalTime deadline, const sql::Wakeup& closing) override;
  std::unique_ptr<sql::ChangeFeed> make_feed() override;

 private:
  const std::shared_ptr<Server> server_;
  const std::string name_;
};

}  // namespace simba::mysql
