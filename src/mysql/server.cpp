#include "mysql/server.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "sql/workers/poll_wait.hpp"

namespace simba::mysql {

std::string version_warning(std::string_view mutex, std::uint64_t version) {
  constexpr std::uint64_t seconds_a_day = 86'400;
  const std::string when =
      version > largest_jvm_version
          ? "it can no longer read this one"
          : fmt::format("at one change per second it will reach that in {} days",
                        (largest_jvm_version - version) / seconds_a_day);
  return fmt::format(
      "mutex \"{}\" has version {}; the JVM library reads versions up to {} only: {}. If it shares "
      "this mutex, move its users to another name before that",
      detail::excerpt(mutex), version, largest_jvm_version, when);
}

Server::Server(Settings checked, std::shared_ptr<Logger> logger)
    : settings{std::move(checked)}, log{std::move(logger)} {}

void Server::saw_version(const std::string& mutex, std::uint64_t version) {
  if (version <= largest_jvm_version / 2) return;
  {
    const std::lock_guard lock{mutex_};
    if (!warned_of_.insert(mutex).second) return;
  }
  log->log(LogLevel::warn,
           fmt::format("MySQL at {}: {}", settings.place, version_warning(mutex, version)));
}

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
