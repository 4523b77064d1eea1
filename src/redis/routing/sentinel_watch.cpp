#include "redis/routing/sentinel_watch.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "redis/protocol/command.hpp"
#include "redis/protocol/message.hpp"
#include "redis/protocol/printable.hpp"
#include "redis/routing/master_finder.hpp"
#include "redis/settings.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view channel = "+switch-master";

/// Between PINGs, and between attempts to listen.
constexpr auto interval = 1s;

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
  std::int64_t number = 0;
  const auto [stop, fault] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool whole = fault == std::errc{} && stop == port.data() + port.size();
  if (name != master_name || !can_be_host(host) || !whole || !can_be_port(number)) {
    return std::nullopt;
  }
  return Endpoint{.host = std::string{host}, .port = static_cast<std::uint16_t>(number)};
}

SentinelWatch::SentinelWatch(const RedisOptions& options, std::shared_ptr<const Runtime> runtime,
                             Post post, OpenConnection open, Events events)
    : sentinels_{options.endpoints},
      master_name_{options.master_name},
      settings_{sentinel_settings(options)},
      runtime_{std::move(runtime)},
      post_{std::move(post)},
      open_{std::move(open)},
      events_{std::move(events)} {}

void SentinelWatch::start() {
  {
    const std::lock_guard lock{mutex_};
    if (closed_ || std::exchange(started_, true)) return;
    timer_ = runtime_->timers->create([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->tick();
    });
  }
  connect_soon();
}

void SentinelWatch::close() {
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    ++attempt_;
    ready_ = false;
    connection = std::exchange(connection_, nullptr);
    if (timer_) timer_->cancel();
  }
  if (connection) connection->close();
}

void SentinelWatch::connect_soon() {
  post_([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->connect();
  });
}

void SentinelWatch::connect() {
  Endpoint sentinel;
  std::uint64_t attempt = 0;
  {
    const std::lock_guard lock{mutex_};
    if (closed_) return;
    sentinel = sentinels_[next_];
    next_ = (next_ + 1) % sentinels_.size();
    attempt = ++attempt_;
    ready_ = false;
    unanswered_since_.reset();
    arm();
  }
  const std::weak_ptr<SentinelWatch> weak = weak_from_this();
  auto connection = open_(sentinel, settings_, Connection::Use::subscriptions,
                          {.on_ready =
                               [weak, attempt](const auto& /*hashes*/) {
                                 if (const auto self = weak.lock()) self->ready(attempt);
                               },
                           .on_message =
                               [weak, attempt](const Reply& reply) {
                                 if (const auto self = weak.lock()) self->received(attempt, reply);
                               },
                           .on_closed =
                               [weak, attempt](const Error& error) {
                                 if (const auto self = weak.lock()) self->failed(attempt, error);
                               }});
  {
    const std::lock_guard lock{mutex_};
    if (!closed_ && attempt == attempt_) std::swap(connection_, connection);
  }
  if (connection) connection->close();  // the one before, or this one where it came too late
}

void SentinelWatch::ready(std::uint64_t attempt) {
  const std::lock_guard lock{mutex_};
  if (attempt != attempt_ || !connection_) return;
  ready_ = true;
  connection_->send(command({"SUBSCRIBE", channel}), 0, {});
}

void SentinelWatch::received(std::uint64_t attempt, const Reply& reply) {
  if (reply.is(Reply::Type::error)) {
    failed(attempt,
           Error{ErrorKind::permission, "a sentinel rejected SUBSCRIBE (" + printable(reply.text) +
                                            "); run there: ACL SETUSER <sentinel_user> +subscribe "
                                            "&+switch-master"});
    return;
  }
  const Message message = parse_message(reply);
  const bool listening = std::holds_alternative<Subscribed>(message);
  {
    const std::lock_guard lock{mutex_};
    if (attempt != attempt_) return;
    if (std::holds_alternative<Pong>(message)) unanswered_since_.reset();
    if (listening) told_.clear();
  }
  if (listening) {
    events_.on_listening();
  } else if (const auto* published = std::get_if<Published>(&message)) {
    if (published->channel != channel) return;
    if (const auto master = parse_switch(published->payload, master_name_)) {
      events_.on_switched(*master);
    }
  }
}

void SentinelWatch::failed(std::uint64_t attempt, const Error& error) {
  std::shared_ptr<Connection> connection;
  bool news = false;
  {
    const std::lock_guard lock{mutex_};
    if (attempt != attempt_) return;
    ++attempt_;
    ready_ = false;
    connection = std::exchange(connection_, nullptr);
    news = std::exchange(told_, error.what()) != error.what();
    arm();
  }
  if (connection) connection->close();
  if (news) {
    runtime_->log->log(
        LogLevel::warn,
        std::string{"cannot subscribe to any sentinel; a failover will be noticed late: "} +
            error.what());
  }
}

void SentinelWatch::tick() {
  const LocalTime now = runtime_->clock->now();
  {
    const std::lock_guard lock{mutex_};
    if (closed_) return;
    const bool silent = unanswered_since_ && now - *unanswered_since_ >= settings_->command_timeout;
    if (connection_ && !silent) {
      if (ready_ && !unanswered_since_) {
        unanswered_since_ = now;
        connection_->send(command({"PING"}), 0, {});
      }
      arm();
      return;
    }
  }
  connect_soon();
}

void SentinelWatch::arm() {
  if (!closed_) timer_->arm(runtime_->clock->now() + interval);
}

}  // namespace simba::redis
