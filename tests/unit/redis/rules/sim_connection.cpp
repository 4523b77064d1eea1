#include "unit/redis/rules/sim_connection.hpp"

#include <algorithm>
#include <utility>

namespace simba::redis::rules {

using namespace std::chrono_literals;
using Lane = Actor::Lane;

SimConnection::SimConnection(Network& network, std::shared_ptr<Host> host,
                             std::shared_ptr<const ConnectionSettings> settings, Use use,
                             Events events)
    : network_{network},
      host_{std::move(host)},
      settings_{std::move(settings)},
      use_{use},
      events_{std::move(events)},
      lag_{use == Use::commands ? network.weather_.commands_lag : network.weather_.messages_lag} {
  if (network.world_.chance(500)) lag_ = 0ns;
  client_->name = host_->name + (use == Use::commands ? "" : " (messages)");
}

void SimConnection::begin() {
  client_->say = [weak = weak_from_this()](Reply reply) {
    const auto connection = std::static_pointer_cast<SimConnection>(weak.lock());
    if (!connection) return;
    connection->to_host([reply = std::move(reply)](auto& here) { here.receive(reply); });
  };
  to_server([self = self()] {
    Server& server = self->network_.server_;
    if (!server.up()) {
      self->to_host([](auto& here) {
        here.fail(Error{ErrorKind::unavailable, "connection refused"});
      });
      return;
    }
    server.accept(self->client_);
    self->to_host([](auto& here) { here.become_ready(); });
  });
  const LocalTime due = network_.world_.now() + settings_->connect_timeout;
  host_->actor->at(Lane::timers, due, [weak = weak_from_this()] {
    const auto here = std::static_pointer_cast<SimConnection>(weak.lock());
    if (!here || here->state_ != State::opening) return;
    here->fail(Error{ErrorKind::unavailable, "no answer within the connect time-out"});
  });
}

// ---- the network --------------------------------------------------------------------------------

LocalTime SimConnection::arrival(Direction direction) {
  World& world = network_.world_;
  const LocalTime soonest = std::max(world.now() + network_.delay(lag_), held_.at(direction));
  return last_.at(direction) = std::max(last_.at(direction), soonest);
}

void SimConnection::to_server(std::function<void()> what) {
  if (host_->cut_off) return;
  network_.server_.actor().at(Lane::loop, arrival(up), [client = client_, what = std::move(what)] {
    if (client->open) what();
  });
}

void SimConnection::to_host(std::function<void(SimConnection&)> what) {
  if (host_->cut_off) return;
  host_->actor->at(Lane::loop, arrival(down), [self = self(), what = std::move(what)] {
    if (!self->closed() && !self->host_->cut_off) what(*self);
  });
}

void SimConnection::hold_until(bool hold_up, bool hold_down, LocalTime until) {
  if (hold_up) held_[up] = std::max(held_[up], until);
  if (hold_down) held_[down] = std::max(held_[down], until);
}

void SimConnection::break_at_server(std::chrono::nanoseconds later) {
  network_.server_.forget(client_);
  host_->actor->at(Lane::loop, network_.world_.now() + later, [self = self()] {
    self->fail(Error{ErrorKind::unavailable, "the connection broke"});
  });
}

void SimConnection::break_here(std::chrono::nanoseconds later) {
  silent_ = true;
  host_->actor->at(Lane::loop, network_.world_.now(), [self = self()] {
    self->fail(Error{ErrorKind::unavailable, "the connection broke"});
  });
  network_.server_.actor().at(Lane::loop, network_.world_.now() + later,
                              [self = self()] { self->network_.server_.forget(self->client_); });
}

// ---- its user -----------------------------------------------------------------------------------

void SimConnection::send(std::string commands, std::size_t replies, RepliesHandler handler) {
  if (closed()) {
    if (handler) handler(Error{ErrorKind::unavailable, "the connection is closed"});
    return;
  }
  requests_.push_back({.commands = std::move(commands),
                       .replies = replies,
                       .handler = std::move(handler),
                       .since = local_now()});
  if (state_ == State::ready) flush();
}

void SimConnection::flush() {
  for (Request& request : requests_) {
    if (request.sent) continue;
    request.sent = true;
    for (Words& words : decode(request.commands)) {
      to_server([self = self(), words = std::move(words)] {
        self->network_.server_.serve(self->client_, words);
      });
    }
    if (use_ == Use::commands) watch(request.since);
  }
  if (use_ == Use::subscriptions) requests_.clear();
}

void SimConnection::become_ready() {
  state_ = State::ready;
  for (Request& request : requests_) request.since = local_now();
  flush();
  if (events_.on_ready) events_.on_ready();
}

void SimConnection::receive(const Reply& reply) {
  const auto here = self();  // a handler may let go of it
  if (use_ == Use::subscriptions) {
    if (reply.elements.size() == 3 && reply.elements[0].text == "message") {
      network_.world_.note(client_->name + " hears " + reply.elements[2].text);
    }
    if (const auto on_message = events_.on_message) on_message(reply);
    return;
  }
  Request& oldest = requests_.front();
  oldest.got.push_back(reply);
  if (oldest.got.size() < oldest.replies) return;
  const Request request = std::move(oldest);
  requests_.pop_front();
  request.handler(Replies{request.got});
}

void SimConnection::watch(LocalTime since) {
  host_->actor->at(Lane::timers, network_.world_.now() + settings_->command_timeout + 1ms,
                   [weak = weak_from_this(), since] {
                     if (const auto here = std::static_pointer_cast<SimConnection>(weak.lock()))
                       here->look_at_time(since, true);
                   });
}

// What has come while the process was paused is read before it gives up.
void SimConnection::look_at_time(LocalTime since, bool again) {
  if (closed() || requests_.empty() || requests_.front().since > since) return;
  if (again) {
    host_->actor->at(Lane::timers, network_.world_.now() + 1ms,
                     [self = self(), since] { self->look_at_time(since, false); });
    return;
  }
  fail(Error{ErrorKind::timeout, "no answer within the command time-out"});
}

void SimConnection::close() {
  if (closed()) return;
  state_ = State::closed;
  host_->actor->at(Lane::loop, network_.world_.now(), [self = self()] {
    self->finish(Error{ErrorKind::unavailable, "the connection was closed"}, false);
  });
}

void SimConnection::fail(const Error& cause) {
  if (closed()) return;
  state_ = State::closed;
  network_.world_.note(client_->name + ": " + cause.what());
  finish(cause, true);
}

// What was sent before is still carried out, unless the end of the connection overtakes it.
void SimConnection::finish(const Error& cause, bool tell) {
  World& world = network_.world_;
  const auto forget = [self = self()] { self->network_.server_.forget(self->client_); };
  if (!host_->cut_off && !silent_) {
    if (world.chance(300)) {
      network_.server_.actor().at(Lane::loop, world.now() + network_.delay(), forget);
    } else {
      to_server(forget);
    }
  }
  const auto here = self();
  const Events events = std::exchange(events_, {});
  for (const Request& request : std::exchange(requests_, {})) {
    if (!request.handler) continue;
    const bool over_time = local_now() - request.since >= settings_->command_timeout;
    ErrorKind kind = request.sent ? ErrorKind::in_doubt : ErrorKind::unavailable;
    if (request.sent && cause.kind() == ErrorKind::timeout && over_time) kind = cause.kind();
    request.handler(Error{kind, cause.what()});
  }
  if (tell && events.on_closed) events.on_closed(cause);
}

std::vector<Words> decode(std::string_view commands) {
  const auto number = [&commands] {
    const std::size_t end = commands.find("\r\n");
    const auto value = std::stoul(std::string{commands.substr(1, end - 1)});
    commands.remove_prefix(end + 2);
    return value;
  };
  std::vector<Words> all;
  while (!commands.empty()) {
    Words& words = all.emplace_back();
    for (auto left = number(); left > 0; --left) {
      const std::size_t length = number();
      words.emplace_back(commands.substr(0, length));
      commands.remove_prefix(length + 2);
    }
  }
  return all;
}

}  // namespace simba::redis::rules
