#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "postgresql/connection.hpp"
#include "simba/core/log.hpp"
#include "sql/database.hpp"

namespace simba::postgresql {

/// Hints from LISTEN on a connection of its own. Reconnects after a growing pause, in steps that
/// go on at the next `wait()`, and hints at everything each time it has begun to listen.
class ListeningFeed final : public sql::ChangeFeed {
 public:
  ListeningFeed(std::shared_ptr<const ConnectSettings> settings,
                std::chrono::milliseconds connect_timeout, std::shared_ptr<Logger> log);

  sql::Hint wait(const std::vector<std::string>& waited_for, LocalTime until,
                 const sql::Wakeup& wakeup) noexcept override;

 private:
  enum class Stage { down, connecting, subscribing, listening };

  sql::Hint wait_or_throw(LocalTime until, const sql::Wakeup& wakeup);
  sql::Waited step(LocalTime until, const sql::Wakeup& wakeup, sql::Hint& hint);
  void begin();
  void began_to_listen();
  void failed(const std::string& why) noexcept;

  const std::shared_ptr<const ConnectSettings> settings_;
  const std::chrono::milliseconds connect_timeout_;
  const std::shared_ptr<Logger> log_;

  Stage stage_ = Stage::down;
  std::unique_ptr<Connection> connection_{};
  LocalTime deadline_{};  ///< of the present attempt
  LocalTime retry_at_{};
  std::chrono::milliseconds pause_;
  bool told_ = false;  ///< that it is down
};

}  // namespace simba::postgresql
