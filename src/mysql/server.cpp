#include "mysql/server.hpp"

#include <utility>

#include <fmt/format.h>

#include "simba/core/error.hpp"
#include "sql/workers/wakeup.hpp"

namespace simba::mysql {

Server::Server(Settings checked, std::shared_ptr<Logger> logger)
    : settings{std::move(checked)}, log{std::move(logger)} {}

void Server::open_place() {
  const std::lock_guard lock{mutex_};
  left_behind_.erase(left_behind_.begin(), left_behind_.upper_bound(sql::real_now()));
  if (open_ + left_behind_.size() >= settings.pool_size && !left_behind_.empty()) {
    throw Error{ErrorKind::unavailable,
                fmt::format("MySQL at {} may still be executing {} statement(s) that were not "
                            "answered in time; reconnecting once they must have ended",
                            settings.place, left_behind_.size())};
  }
  ++open_;
}

void Server::close_place(LocalTime busy_until) {
  const std::lock_guard lock{mutex_};
  --open_;
  if (busy_until > sql::real_now()) left_behind_.insert(busy_until);
}

void Server::name_taken(const std::string& mutex, const std::string& message) {
  constexpr std::size_t most = 1'000;
  {
    const std::lock_guard lock{mutex_};
    if (taken_names_.size() >= most || !taken_names_.insert(mutex).second) return;
  }
  log->log(LogLevel::error, message);
}

}  // namespace simba::mysql
