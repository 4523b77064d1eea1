#pragma once

#include <memory>
#include <string_view>

#include "postgresql/session.hpp"
#include "postgresql/settings.hpp"
#include "simba/core/log.hpp"
#include "simba/postgresql/postgresql_factory.hpp"
#include "sql/database.hpp"

namespace simba::postgresql {

/// PostgreSQL behind the port of the SQL stores.
class PostgreSqlDatabase final : public sql::Database {
 public:
  /// Throws InvalidArgumentError where the options contradict each other. Does not connect.
  PostgreSqlDatabase(const PostgreSqlOptions& options, std::shared_ptr<Logger> log);

  std::string_view name() const noexcept override { return settings_->name(); }
  std::unique_ptr<sql::Session> connect(LocalTime deadline, const sql::Wakeup& closing) override;
  std::unique_ptr<sql::ChangeFeed> make_feed() override;

 private:
  const std::shared_ptr<const ConnectSettings> settings_;
  const std::shared_ptr<ChosenTable> table_;
  const std::shared_ptr<Logger> log_;
  const Listen listen_;
  const std::chrono::milliseconds connect_timeout_;
};

}  // namespace simba::postgresql
