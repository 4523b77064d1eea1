#include "mysql/server.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sql/workers/poll_wait.hpp"

namespace simba::mysql {

Server::Server(Settings checked, std::shared_ptr<Logger> logger)
    : settings{std::move(checked)}, log{std::move(logger)} {}

/// At the server that answered last; with those of which nobody knows where they are.
std::size_t Server::left_behind() const {
  return static_cast<std::size_t>(
      std::count_if(left_behind_.begin(), left_behind_.end(), [&](const auto& entry) {
        return entry.second.empty() || latest_.empty() || entry.second == latest_;
      }));
}

Error Server::full(std::size_t left_behind) const {
  return Error{ErrorKind::unavailable,
               fmt::format("MySQL at {} may still be executing {} statement(s) that were not "
                           "answered in time; reconnecting once they must have ended",
                           settings.place, left_behind)};
}

void Server::open_place() {
  const std::lock_guard lock{mutex_};
  left_behind_.erase(left_behind_.begin(), left_behind_.upper_bound(sql::real_now()));
  const std::size_t left = left_behind();
  if (left > 0 && open_ + left >= settings.pool_size) throw full(left);
  ++open_;
}

void Server::arrived(const std::string& identity) {
  const std::lock_guard lock{mutex_};
  latest_ = identity;
  const std::size_t left = left_behind();
  if (left > 0 && open_ + left > settings.pool_size) throw full(left);
}

void Server::close_place(const std::string& identity, LocalTime busy_until) {
  const std::lock_guard lock{mutex_};
  --open_;
  if (busy_until > sql::real_now()) left_behind_.emplace(busy_until, identity);
}

}  // namespace simba::mysql
