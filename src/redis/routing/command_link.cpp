#include "redis/routing/command_link.hpp"

#include <optional>
#include <utility>

namespace simba::redis {
namespace {

Error closed() { return Error{ErrorKind::unavailable, "the Redis store is closed"}; }

}  // namespace

CommandLink::CommandLink(Dialer dialer, std::function<void(const Endpoint&)> on_ready)
    : Link{std::move(dialer), Connection::Use::commands}, on_ready_{std::move(on_ready)} {}

void CommandLink::send(std::string commands, std::size_t replies, RepliesHandler handler) {
  Lock lock{mutex_};
  if (const auto connection = connection_; connection && handed_over_ == attempt_) {
    lock.unlock();
    connection->send(std::move(commands), replies, std::move(handler));
    return;
  }
  std::optional<Error> refused;
  if (closed_) {
    refused = closed();
  } else if (!under_way()) {
    refused = gate_.shut(now());
  }
  if (refused) {
    lock.unlock();
    handler(*refused);
    return;
  }
  waiting_.push_back({std::move(commands), replies, std::move(handler)});
  if (!under_way()) dial();
}

// In the order in which they came: what is sent meanwhile waits behind them.
void CommandLink::opened(Lock& lock) {
  const auto attempt = attempt_;
  const auto connection = connection_;
  while (attempt == attempt_ && !waiting_.empty()) {
    auto waiting = std::exchange(waiting_, {});
    lock.unlock();
    for (Waiting& request : waiting) {
      connection->send(std::move(request.commands), request.replies, std::move(request.handler));
    }
    lock.lock();
  }
  if (attempt == attempt_) handed_over_ = attempt;
}

void CommandLink::ready(Lock& lock) {
  const Endpoint endpoint = endpoint_;
  lock.unlock();
  if (on_ready_) on_ready_(endpoint);
}

void CommandLink::failed(Lock& lock, const Error& error, bool /*news*/) {
  answer_waiting(lock, error);
}

void CommandLink::left() {
  if (!waiting_.empty()) dial();
}

void CommandLink::closing(Lock& lock) { answer_waiting(lock, closed()); }

void CommandLink::answer_waiting(Lock& lock, const Error& error) {
  const auto waiting = std::exchange(waiting_, {});
  lock.unlock();
  for (const Waiting& request : waiting) request.handler(error);
}

}  // namespace simba::redis
