#include "mysql/database.hpp"

#include <utility>

#include "mysql/session.hpp"

namespace simba::mysql {

MySqlDatabase::MySqlDatabase(Settings settings, std::shared_ptr<Logger> log)
    : server_{std::make_shared<Server>(std::move(settings), std::move(log))},
      name_{"MySQL at " + server_->settings.place} {}

std::unique_ptr<sql::Session> MySqlDatabase::connect(LocalTime deadline,
                                                     const sql::Wakeup& closing) {
  return std::make_unique<MySqlSession>(server_, deadline, closing);
}

std::unique_ptr<sql::ChangeFeed> MySqlDatabase::make_feed() {
  return std::make_unique<sql::SilentFeed>();
}

}  // namespace simba::mysql
