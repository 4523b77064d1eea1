#include "redis/waiting/subscriber.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace simba::redis {

using Effects = Subscriptions::Effects;

namespace {

/// A connection that has lasted for so long was a good one.
constexpr std::chrono::seconds steady{5};

Dialer without_scripts(Dialer dialer) {
  auto settings = std::make_shared<ConnectionSettings>(*dialer.settings);
  settings->scripts.clear();
  dialer.settings = std::move(settings);
  return dialer;
}

}  // namespace

class Subscriber::SubscriberWatch final : public engine::Watch {
 public:
  SubscriberWatch(std::shared_ptr<Subscriber> subscriber, Subscriptions::WatchId id)
      : subscriber_{std::move(subscriber)}, id_{id} {}
  SubscriberWatch(const SubscriberWatch&) = delete;
  SubscriberWatch& operator=(const SubscriberWatch&) = delete;
  ~SubscriberWatch() override { subscriber_->remove(id_); }

 private:
  const std::shared_ptr<Subscriber> subscriber_;
  const Subscriptions::WatchId id_;
};

Subscriber::Subscriber(Dialer dialer, Subscriptions::Grants grants)
    : dialer_{without_scripts(std::move(dialer))},
      subscriptions_{dialer_.runtime->random, grants} {}

Subscriber::~Subscriber() {
  if (connection_) connection_->close();
}

std::unique_ptr<engine::Watch> Subscriber::watch(const engine::LeaseRequest& request,
                                                 engine::NoticeHandler handler) {
  Effects effects;
  Subscriptions::WatchId id = 0;
  {
    const LocalTime now = dialer_.runtime->clock->now();
    const std::lock_guard lock{mutex_};
    id = subscriptions_.add(request, std::move(handler), now, effects);
    send(effects);
    keep_up();
  }
  auto watch = std::make_unique<SubscriberWatch>(shared_from_this(), id);
  report(effects);
  return watch;
}

void Subscriber::remove(Subscriptions::WatchId id) {
  const std::lock_guard lock{mutex_};
  subscriptions_.remove(id, dialer_.runtime->clock->now());
}

Place Subscriber::place_for(const std::string& mutex, const std::string& contender_id) {
  const std::lock_guard lock{mutex_};
  return subscriptions_.place_for(mutex, contender_id, dialer_.runtime->clock->now());
}

void Subscriber::follow(const Endpoint& endpoint) {
  {
    const std::lock_guard lock{mutex_};
    if (!endpoint_ || *endpoint_ == endpoint) return;
  }
  leave();
}

void Subscriber::leave() {
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock{mutex_};
    connection = hang_up();
    keep_up();
  }
  if (connection) connection->close();
}

void Subscriber::close() {
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    connection = hang_up();
    if (timer_) timer_->cancel();
  }
  if (connection) connection->close();
}

// ---- the connection -----------------------------------------------------------------------------

std::shared_ptr<Connection> Subscriber::hang_up() {
  ++attempt_;
  dialing_ = false;
  ready_ = false;
  endpoint_.reset();
  subscriptions_.disconnected();
  return std::exchange(connection_, nullptr);
}

/// Sees to it that there is a connection as long as one is needed, and a timer that looks again.
void Subscriber::keep_up() {
  if (closed_ || subscriptions_.empty()) return;
  const LocalTime now = dialer_.runtime->clock->now();
  if (!connection_ && !dialing_ && !gate_.shut(now)) {
    dialing_ = true;
    ++attempt_;
    dialer_.post([weak = weak_from_this(), attempt = attempt_] {
      const auto self = weak.lock();
      if (!self) return;
      self->dialer_.source->find([weak, attempt](const auto& result) {
        if (const auto found_self = weak.lock()) found_self->found(attempt, result);
      });
    });
  }
  arm();
}

void Subscriber::found(std::uint64_t attempt, const std::variant<Endpoint, Error>& result) {
  if (const auto* error = std::get_if<Error>(&result)) {
    failed(attempt, *error);
    return;
  }
  const auto& endpoint = std::get<Endpoint>(result);
  {
    const std::lock_guard lock{mutex_};
    if (closed_ || attempt != attempt_) return;
    endpoint_ = endpoint;
  }
  const std::weak_ptr<Subscriber> weak = weak_from_this();
  const auto connection = dialer_.open(endpoint, dialer_.settings, Connection::Use::subscriptions,
                                       {.on_ready =
                                            [weak, attempt](const auto& /*hashes*/) {
                                              if (const auto self = weak.lock())
                                                self->ready(attempt);
                                            },
                                        .on_message =
                                            [weak, attempt](const Reply& reply) {
                                              if (const auto self = weak.lock())
                                                self->received(attempt, reply);
                                            },
                                        .on_closed =
                                            [weak, attempt](const Error& error) {
                                              if (const auto self = weak.lock())
                                                self->failed(attempt, error);
                                            }});
  {
    const std::lock_guard lock{mutex_};
    if (!closed_ && attempt == attempt_) {
      connection_ = connection;
      return;
    }
  }
  connection->close();
}

void Subscriber::ready(std::uint64_t attempt) {
  Effects effects;
  {
    const LocalTime now = dialer_.runtime->clock->now();
    const std::lock_guard lock{mutex_};
    if (attempt != attempt_) return;
    dialing_ = false;
    ready_ = true;
    ready_at_ = now;
    subscriptions_.connected(now, effects);
    send(effects);
    arm();
  }
  report(effects);
}

void Subscriber::received(std::uint64_t attempt, const Reply& reply) {
  Effects effects;
  {
    const LocalTime now = dialer_.runtime->clock->now();
    const std::lock_guard lock{mutex_};
    if (attempt != attempt_ || !endpoint_) return;
    subscriptions_.received(reply, "Redis at " + to_string(*endpoint_), now, effects);
    send(effects);
  }
  report(effects);
  if (effects.refused) failed(attempt, *effects.refused);
}

void Subscriber::failed(std::uint64_t attempt, const Error& error) {
  bool news = false;
  std::shared_ptr<Connection> connection;
  {
    const LocalTime now = dialer_.runtime->clock->now();
    const std::lock_guard lock{mutex_};
    if (attempt != attempt_) return;
    // A connection that keeps breaking is retried less and less often, and logged once.
    if (ready_ && now - ready_at_ >= steady) gate_.succeeded();
    connection = hang_up();
    news = gate_.failed(error, now) && !subscriptions_.empty();
    arm();
  }
  if (connection) connection->close();
  if (news) {
    dialer_.runtime->log->log(
        LogLevel::warn,
        std::string{"cannot subscribe to Redis; changes will be noticed late: "} + error.what());
  }
}

// ---- time ---------------------------------------------------------------------------------------

void Subscriber::tick() {
  Effects effects;
  std::shared_ptr<Connection> dead;
  {
    const LocalTime now = dialer_.runtime->clock->now();
    const std::lock_guard lock{mutex_};
    if (closed_) return;
    due_ = never;
    const LocalTime unanswered = subscriptions_.unanswered_since();
    if (unanswered != never && now - unanswered >= dialer_.settings->command_timeout) {
      dead = hang_up();
    }
    subscriptions_.tick(now, effects);
    send(effects);
    keep_up();
    arm();
  }
  if (dead) dead->close();
  report(effects);
}

void Subscriber::arm() {
  if (closed_) return;
  if (!timer_) {
    timer_ = dialer_.runtime->timers->create([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->tick();
    });
  }
  if (subscriptions_.empty()) {
    due_ = never;
    timer_->cancel();
    return;
  }
  const LocalTime now = dialer_.runtime->clock->now();
  LocalTime due = now + subscriptions_.interval();
  if (!connection_ && !dialing_) due = std::clamp(gate_.opens_at(), now, due);
  if (due >= due_) return;  // never later: whoever comes and goes must not put it off
  due_ = due;
  timer_->arm(due);
}

void Subscriber::send(Effects& effects) {
  if (ready_ && !effects.commands.empty()) connection_->send(std::move(effects.commands), 0, {});
}

void Subscriber::report(const Effects& effects) const {
  for (const std::string& warning : effects.warnings) {
    dialer_.runtime->log->log(LogLevel::warn, warning);
  }
  for (const auto& unclaimed : effects.unclaimed) {
    if (give_back_) give_back_(unclaimed);
  }
  for (const auto& delivery : effects.deliveries) (*delivery.handler)(delivery.notice);
}

}  // namespace simba::redis
