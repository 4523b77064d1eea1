#include "mysql/server.hpp"

#include <utility>

#include <fmt/format.h>

namespace simba::mysql {

Server::Server(Settings checked, std::shared_ptr<Logger> logger)
    : settings{std::move(checked)}, log{std::move(logger)}, hints_{settings.hints()} {}

void Server::no_more_hints(const std::string& why) {
  if (hints_.exchange(false)) {
    log->log(LogLevel::info,
             fmt::format("MySQL at {}: no notifications of releases; waiters poll: {}",
                         settings.place, why));
  }
}

void Server::hints_failed(const std::string& why) {
  if (!hints_failing_.exchange(true)) {
    log->log(LogLevel::info, fmt::format("MySQL at {}: no notifications of releases for now: {}",
                                         settings.place, why));
  }
}

void Server::hints_work() {
  if (hints_failing_ && hints_failing_.exchange(false)) {
    log->log(LogLevel::info,
             fmt::format("MySQL at {}: notifications of releases work again", settings.place));
  }
}

std::uint64_t Server::session_opened(std::uint64_t connection) {
  const std::lock_guard lock{mutex_};
  sessions_[++last_serial_] = connection;
  return last_serial_;
}

void Server::session_closed(std::uint64_t serial) {
  const std::lock_guard lock{mutex_};
  sessions_.erase(serial);
}

std::optional<Server::OpenSession> Server::open_session() const {
  const std::lock_guard lock{mutex_};
  if (sessions_.empty()) return std::nullopt;
  const auto& [serial, connection] = *sessions_.begin();
  return OpenSession{.serial = serial, .connection = connection};
}

void Server::connection_waits(std::uint64_t connection, const std::string& mutex) {
  const std::lock_guard lock{mutex_};
  if (mutex.empty()) {
    waiting_.erase(connection);
  } else {
    waiting_[connection] = mutex;
  }
}

std::optional<std::uint64_t> Server::waiting_for(const std::string& mutex) const {
  const std::lock_guard lock{mutex_};
  for (const auto& [connection, name] : waiting_) {
    if (name == mutex) return connection;
  }
  return std::nullopt;
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
