#include "redis/routing/command_link.hpp"

#include <optional>
#include <utility>
#include <variant>

namespace simba::redis {
namespace {

Error closed() { return Error{ErrorKind::unavailable, "the Redis store is closed"}; }

}  // namespace

CommandLink::CommandLink(Dialer dialer, std::function<void(const Endpoint&)> on_ready)
    : dialer_{std::move(dialer)}, on_ready_{std::move(on_ready)} {}

void CommandLink::send(std::string commands, std::size_t replies, RepliesHandler handler) {
  std::unique_lock lock{mutex_};
  if (const auto connection = connection_) {
    lock.unlock();
    connection->send(std::move(commands), replies, std::move(handler));
    return;
  }
  std::optional<Error> refused;
  if (closed_) {
    refused = closed();
  } else if (!dialing_) {
    refused = gate_.shut(dialer_.runtime->clock->now());
  }
  if (refused) {
    lock.unlock();
    handler(*refused);
    return;
  }
  waiting_.push_back({std::move(commands), replies, std::move(handler)});
  if (std::exchange(dialing_, true)) return;
  const auto attempt = ++attempt_;
  lock.unlock();
  dialer_.post([self = shared_from_this(), attempt] { self->dial(attempt); });
}

void CommandLink::dial(std::uint64_t attempt) {
  dialer_.source->find(
      [self = shared_from_this(), attempt](const auto& result) { self->found(attempt, result); });
}

void CommandLink::found(std::uint64_t attempt, const std::variant<Endpoint, Error>& result) {
  if (const auto* error = std::get_if<Error>(&result)) {
    failed(attempt, *error);
    return;
  }
  const auto& endpoint = std::get<Endpoint>(result);
  {
    const std::lock_guard lock{mutex_};
    if (closed_ || attempt != attempt_) return;
  }
  const std::weak_ptr<CommandLink> weak = weak_from_this();
  const auto connection = dialer_.open(endpoint, dialer_.settings, Connection::Use::commands,
                                       {.on_ready =
                                            [weak, attempt, endpoint](const auto& /*hashes*/) {
                                              if (const auto self = weak.lock())
                                                self->ready(attempt, endpoint);
                                            },
                                        .on_message = {},
                                        .on_closed =
                                            [weak, attempt](const Error& error) {
                                              if (const auto self = weak.lock())
                                                self->failed(attempt, error);
                                            }});
  hand_on(connection, attempt);
}

// In the order in which they came: what is sent meanwhile waits behind them.
void CommandLink::hand_on(const std::shared_ptr<Connection>& connection, std::uint64_t attempt) {
  std::unique_lock lock{mutex_};
  if (closed_ || attempt != attempt_) {
    lock.unlock();
    connection->close();
    return;
  }
  opened_ = connection;
  while (attempt == attempt_ && !waiting_.empty()) {
    auto waiting = std::exchange(waiting_, {});
    lock.unlock();
    for (Waiting& request : waiting) {
      connection->send(std::move(request.commands), request.replies, std::move(request.handler));
    }
    lock.lock();
  }
  if (attempt != attempt_) return;
  connection_ = std::exchange(opened_, nullptr);
  dialing_ = false;
}

void CommandLink::ready(std::uint64_t attempt, const Endpoint& endpoint) {
  {
    const std::lock_guard lock{mutex_};
    if (attempt != attempt_) return;
    gate_.succeeded();
  }
  if (on_ready_) on_ready_(endpoint);
}

void CommandLink::failed(std::uint64_t attempt, const Error& error) {
  std::vector<Waiting> waiting;
  {
    const std::lock_guard lock{mutex_};
    if (attempt != attempt_) return;
    ++attempt_;
    dialing_ = false;
    opened_.reset();
    connection_.reset();
    gate_.failed(error, dialer_.runtime->clock->now());
    waiting = std::exchange(waiting_, {});
  }
  for (const Waiting& request : waiting) request.handler(error);
}

void CommandLink::leave() {
  std::shared_ptr<Connection> connection;
  std::optional<std::uint64_t> again;
  {
    const std::lock_guard lock{mutex_};
    if (closed_ || (!connection_ && !dialing_)) return;
    connection =
        connection_ ? std::exchange(connection_, nullptr) : std::exchange(opened_, nullptr);
    ++attempt_;
    dialing_ = !waiting_.empty();
    if (dialing_) again = attempt_;
  }
  if (connection) connection->close();
  if (again) dialer_.post([self = shared_from_this(), attempt = *again] { self->dial(attempt); });
}

void CommandLink::close() {
  std::vector<Waiting> waiting;
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    ++attempt_;
    dialing_ = false;
    connection =
        connection_ ? std::exchange(connection_, nullptr) : std::exchange(opened_, nullptr);
    waiting = std::exchange(waiting_, {});
  }
  for (const Waiting& request : waiting) request.handler(closed());
  if (connection) connection->close();
}

}  // namespace simba::redis
