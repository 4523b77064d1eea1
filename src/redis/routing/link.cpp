#include "redis/routing/link.hpp"

#include <chrono>
#include <utility>

#include "redis/settings.hpp"

namespace simba::redis {
namespace {

/// A connection that has lasted for so long was a good one: the next is not made to wait for what
/// has failed before it. One that always breaks later than that is made once a second at most.
constexpr std::chrono::seconds steady{1};

}  // namespace

Link::Link(Dialer dialer, Connection::Use use)
    : dialer_{std::move(dialer)},
      gate_{dialer_.runtime->random},
      use_{use},
      connections_{dialer_.runtime->statistics ? dialer_.runtime->statistics->connections()
                                               : nullptr} {}

Link::~Link() {
  if (ready_at_ && connections_) connections_->closed();
  if (connection_) connection_->close();
}

void Link::leave() {
  Lock lock{mutex_};
  if (closed_ || !under_way_) return;
  const auto connection = hang_up();
  left();
  lock.unlock();
  if (connection) connection->close();
}

void Link::refused(const Error& error) {
  Lock lock{mutex_};
  if (under_way_) fail(lock, error);
}

void Link::close() {
  Lock lock{mutex_};
  closed_ = true;
  if (timer_) timer_->cancel();
  const auto connection = hang_up();
  closing(lock);
  if (lock) lock.unlock();
  if (connection) connection->close();
}

void Link::dial() {
  under_way_ = true;
  const auto attempt = ++attempt_;
  dialer_.post([weak = weak_from_this(), attempt] {
    const auto self = weak.lock();
    if (!self) return;
    self->dialer_.source->find([weak, attempt](const auto& result) {
      if (const auto found_self = weak.lock()) found_self->found(attempt, result);
    });
  });
}

void Link::found(std::uint64_t attempt, const std::variant<Endpoint, Error>& result) {
  Lock lock{mutex_};
  if (attempt != attempt_) return;
  if (const auto* error = std::get_if<Error>(&result)) {
    fail(lock, *error);
    return;
  }
  endpoint_ = std::get<Endpoint>(result);
  if (const auto refusal = refusal_to_connect(*dialer_.settings, endpoint_)) {
    fail(lock, *refusal);
    return;
  }
  lock.unlock();
  auto connection =
      dialer_.open(std::get<Endpoint>(result), dialer_.settings, use_, events_of(attempt));
  lock.lock();
  if (attempt == attempt_) {
    connection_ = std::move(connection);
    opened(lock);
    return;
  }
  lock.unlock();
  connection->close();
}

/// Tells of the attempt, unless it is over.
template <typename Tell>
void Link::hear(std::uint64_t attempt, Tell tell) {
  Lock lock{mutex_};
  if (attempt == attempt_) tell(lock);
}

Connection::Events Link::events_of(std::uint64_t attempt) {
  const auto told = [weak = weak_from_this(), attempt](auto tell) {
    if (const auto self = weak.lock()) {
      self->hear(attempt, [&](Lock& lock) { tell(*self, lock); });
    }
  };
  return {.on_ready =
              [told] {
                told([](Link& link, Lock& lock) {
                  link.ready_at_ = link.now();
                  if (link.connections_) link.connections_->opened();
                  link.ready(lock);
                });
              },
          .on_message =
              [told](const Reply& reply) {
                told([&](Link& link, Lock& lock) { link.received(lock, reply); });
              },
          .on_closed =
              [told](const Error& error) {
                told([&](Link& link, Lock& lock) { link.fail(lock, error); });
              }};
}

void Link::fail(Lock& lock, const Error& error) {
  if (ready_at_ && now() - *ready_at_ >= steady) gate_.succeeded();
  if (!ready_at_ && connections_) connections_->failed();
  const auto connection = hang_up();
  const bool news = gate_.failed(error, now());
  failed(lock, error, news);
  if (lock) lock.unlock();
  if (connection) connection->close();
}

Timer& Link::timer() {
  if (!timer_) {
    timer_ = dialer_.runtime->timers->create([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->tick();
    });
  }
  return *timer_;
}

std::shared_ptr<Connection> Link::hang_up() {
  ++attempt_;
  under_way_ = false;
  if (ready_at_ && connections_) connections_->closed();
  ready_at_.reset();
  ended();
  return std::exchange(connection_, nullptr);
}

}  // namespace simba::redis
