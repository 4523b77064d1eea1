#include "redis/waiting/subscriber.hpp"

#include <algorithm>
#include <utility>

namespace simba::redis {

using Effects = Subscriptions::Effects;

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
    : Link{std::move(dialer), Connection::Use::subscriptions},
      subscriptions_{dialer_.runtime->random, grants} {}

std::unique_ptr<engine::Watch> Subscriber::watch(const engine::LeaseRequest& request,
                                                 engine::NoticeHandler handler) {
  Effects effects;
  Subscriptions::WatchId id = 0;
  {
    const std::lock_guard lock{mutex_};
    id = subscriptions_.add(request, std::move(handler), now(), effects);
    send(effects);
    keep_up();
  }
  auto watch = std::make_unique<SubscriberWatch>(
      std::static_pointer_cast<Subscriber>(shared_from_this()), id);
  report(effects);
  return watch;
}

void Subscriber::remove(Subscriptions::WatchId id) {
  const std::lock_guard lock{mutex_};
  subscriptions_.remove(id, now());
}

Place Subscriber::place_for(const std::string& mutex, const std::string& contender_id) {
  const std::lock_guard lock{mutex_};
  return subscriptions_.place_for(mutex, contender_id, now());
}

void Subscriber::saw_time(StoreTime time) {
  const std::lock_guard lock{mutex_};
  subscriptions_.saw_time(time, dialer_.runtime->clock->now());
}

void Subscriber::follow(const Endpoint& endpoint) {
  {
    const std::lock_guard lock{mutex_};
    if (!connection_ || endpoint_ == endpoint) return;
  }
  leave();
}

// ---- the connection -----------------------------------------------------------------------------

/// Sees to it that there is a connection as long as one is needed, and a timer that looks again.
void Subscriber::keep_up() {
  if (closed_ || subscriptions_.empty()) return;
  if (!under_way() && !gate_.shut(now())) dial();
  arm();
}

void Subscriber::ready(Lock& lock) {
  Effects effects;
  subscriptions_.connected(now(), effects);
  send(effects);
  arm();
  lock.unlock();
  report(effects);
}

void Subscriber::received(Lock& lock, const Reply& reply) {
  Effects effects;
  subscriptions_.received(reply, "Redis at " + to_string(endpoint_), now(), effects);
  send(effects);
  const auto attempt = attempt_;
  lock.unlock();
  report(effects);
  if (!effects.refused) return;
  lock.lock();
  if (attempt == attempt_) fail(lock, *effects.refused);
}

void Subscriber::ended() { subscriptions_.disconnected(); }

void Subscriber::failed(Lock& lock, const Error& error, bool news) {
  arm();
  if (!news || subscriptions_.empty()) return;
  lock.unlock();
  dialer_.runtime->log->log(
      LogLevel::warn,
      std::string{"cannot subscribe to Redis; changes will be noticed late: "} + error.what());
}

// ---- time ---------------------------------------------------------------------------------------

void Subscriber::tick() {
  Effects effects;
  std::shared_ptr<Connection> silent;
  {
    const std::lock_guard lock{mutex_};
    if (closed_) return;
    due_ = never;
    const LocalTime unanswered = subscriptions_.unanswered_since();
    if (unanswered != never && now() - unanswered >= dialer_.settings->command_timeout) {
      silent = hang_up();
    }
    subscriptions_.tick(now(), effects);
    send(effects);
    keep_up();
    arm();
  }
  if (silent) silent->close();
  report(effects);
}

void Subscriber::arm() {
  if (closed_) return;
  if (subscriptions_.empty()) {
    due_ = never;
    timer().cancel();
    return;
  }
  LocalTime due = now() + subscriptions_.interval();
  if (!under_way()) due = std::clamp(gate_.opens_at(), now(), due);
  if (due >= due_) return;  // never later: whoever comes and goes must not put it off
  due_ = due;
  timer().arm(due);
}

void Subscriber::send(Effects& effects) {
  if (is_ready() && !effects.commands.empty())
    connection_->send(std::move(effects.commands), 0, {});
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
