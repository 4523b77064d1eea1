#include "redis/routing/sentinel_watch.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/message.hpp"
#include "redis/routing/master_finder.hpp"
#include "redis/settings.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view channel = "+switch-master";

/// Between PINGs, and between attempts to listen.
constexpr auto interval = 1s;

/// One after the other.
class InTurn final : public EndpointSource {
 public:
  explicit InTurn(std::vector<Endpoint> endpoints) : endpoints_{std::move(endpoints)} {}
  void find(EndpointHandler handler) override {
    const Endpoint& endpoint = endpoints_[next_];
    next_ = (next_ + 1) % endpoints_.size();
    handler(endpoint);
  }

 private:
  const std::vector<Endpoint> endpoints_;
  std::size_t next_ = 0;
};

Dialer for_sentinels(Dialer dialer, const RedisOptions& options) {
  dialer.source = std::make_shared<InTurn>(options.endpoints);
  dialer.settings = sentinel_settings(options);
  return dialer;
}

}  // namespace

std::optional<Endpoint> parse_switch(std::string_view payload, std::string_view master_name) {
  std::array<std::string_view, 5> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto end = payload.find(' ');
    if ((end == std::string_view::npos) != (i + 1 == words.size())) return std::nullopt;
    words[i] = payload.substr(0, end);
    payload.remove_prefix(end == std::string_view::npos ? payload.size() : end + 1);
  }
  const auto& [name, old_host, old_port, host, port] = words;
  const auto number = detail::parse_number<std::int64_t>(port);
  if (name != master_name || !can_be_host(host) || !number || !can_be_port(*number)) {
    return std::nullopt;
  }
  return Endpoint{.host = std::string{host}, .port = static_cast<std::uint16_t>(*number)};
}

SentinelWatch::SentinelWatch(const RedisOptions& options, Dialer dialer, Events events)
    : Link{for_sentinels(std::move(dialer), options), Connection::Use::subscriptions},
      master_name_{options.master_name},
      events_{std::move(events)} {}

void SentinelWatch::start() {
  const std::lock_guard lock{mutex_};
  if (closed_ || std::exchange(started_, true)) return;
  dial();
  arm();
}

void SentinelWatch::ready(Lock& /*lock*/) {
  connection_->send(command({"SUBSCRIBE", channel}), 0, {});
}

void SentinelWatch::received(Lock& lock, const Reply& reply) {
  if (reply.is(Reply::Type::error)) {
    fail(lock, Error{ErrorKind::permission, "a sentinel rejected SUBSCRIBE (" +
                                                detail::excerpt(reply.text) +
                                                "); run there: ACL SETUSER <sentinel_user> "
                                                "+subscribe &+switch-master"});
    return;
  }
  const Message message = parse_message(reply);
  if (std::holds_alternative<Pong>(message)) {
    unanswered_since_.reset();
  } else if (std::holds_alternative<Subscribed>(message)) {
    told_ = false;
    lock.unlock();
    events_.on_listening();
  } else if (const auto* published = std::get_if<Published>(&message)) {
    if (published->channel != channel) return;
    lock.unlock();
    if (const auto master = parse_switch(published->payload, master_name_)) {
      events_.on_switched(*master);
    }
  }
}

void SentinelWatch::failed(Lock& lock, const Error& error, bool /*news*/) {
  arm();
  if (std::exchange(told_, true)) return;
  lock.unlock();
  dialer_.runtime->log->log(
      LogLevel::warn,
      std::string{"cannot subscribe to any sentinel; a failover will be noticed late: "} +
          error.what());
}

void SentinelWatch::tick() {
  std::shared_ptr<Connection> silent;
  {
    const std::lock_guard lock{mutex_};
    if (closed_) return;
    if (unanswered_since_ && now() - *unanswered_since_ >= dialer_.settings->command_timeout) {
      silent = hang_up();
    }
    if (!under_way()) {
      dial();
    } else if (is_ready() && !unanswered_since_) {
      unanswered_since_ = now();
      connection_->send(command({"PING"}), 0, {});
    }
    arm();
  }
  if (silent) silent->close();
}

void SentinelWatch::arm() {
  if (!closed_) timer().arm(now() + interval);
}

}  // namespace simba::redis
