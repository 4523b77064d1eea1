#include "unit/zookeeper/rules/sim_client.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace simba::zookeeper::rules {

using namespace std::chrono_literals;
using Lane = Actor::Lane;
using Kind = Ask::Kind;

std::shared_ptr<Client> SimConnector::connect(EventHandler on_event) {
  auto client = std::make_shared<SimClient>(network_, host_, std::move(on_event));
  clients_.push_back(client);
  client->begin();
  return client;
}

void SimConnector::wait_until_closed() {
  for (const auto& weak : clients_) {
    if (const auto client = weak.lock()) client->finish();
  }
}

SimClient::SimClient(Network& network, std::shared_ptr<Host> host, EventHandler on_event)
    : network_{network},
      host_{std::move(host)},
      on_event_{std::move(on_event)},
      last_server_{network.world().below(Ensemble::size)},
      timeout_{network.ensemble().config().timeout} {}

void SimClient::tell(const ClientEvent& event) {
  if (state_ != State::closed) on_event_(event);
}

// ---- requests -----------------------------------------------------------------------------------

void SimClient::submit(Ask ask, Done done) {
  if (state_ == State::closed || state_ == State::expired) {
    done({.code = state_ == State::closed ? Code::closing : Code::session_expired});
    return;
  }
  pending_.push_back({.ask = std::move(ask), .done = std::move(done)});
  if (state_ != State::connected) return;
  pending_.back().sent = true;
  send(Ask{pending_.back().ask});
}

void SimClient::send(const Ask& ask) {
  sent_at_ = now();
  line_->send(ask);
}

void SimClient::create(const std::string& path, const std::string& data, NodeKind kind,
                       CreateHandler handler) {
  submit({.kind = Kind::create, .path = path, .data = data, .node_kind = kind},
         [handler = std::move(handler)](const Say& say) { handler(say.code, say.path, say.stat); });
}

void SimClient::remove(const std::string& path, DoneHandler handler) {
  submit({.kind = Kind::remove, .path = path},
         [handler = std::move(handler)](const Say& say) { handler(say.code); });
}

void SimClient::write(const NodeWrite& write, DoneHandler handler) {
  submit({.kind = Kind::write,
          .path = write.path,
          .data = write.data,
          .replaces = write.replaces,
          .provided = write.provided},
         [handler = std::move(handler)](const Say& say) { handler(say.code); });
}

void SimClient::children(const std::string& path, Watching watching, ChildrenHandler handler) {
  submit({.kind = Kind::children, .path = path, .watching = watching},
         [handler = std::move(handler)](const Say& say) { handler(say.code, say.names); });
}

void SimClient::get(const std::string& path, Watching watching, DataHandler handler) {
  submit({.kind = Kind::get, .path = path, .watching = watching},
         [handler = std::move(handler)](const Say& say) { handler(say.code, say.data, say.stat); });
}

void SimClient::exists(const std::string& path, Watching watching, StatHandler handler) {
  submit({.kind = Kind::exists, .path = path, .watching = watching},
         [handler = std::move(handler)](const Say& say) { handler(say.code, say.stat); });
}

void SimClient::sync(DoneHandler handler) {
  submit({.kind = Kind::sync},
         [handler = std::move(handler)](const Say& say) { handler(say.code); });
}

// The session is ended where there is a connection; else it ends by itself.
void SimClient::close() {
  if (state_ == State::closed) return;
  if (state_ == State::connected) send({.kind = Kind::close_session});
  state_ = State::closed;
  host_->actor->at(Lane::loop, now(), [self = shared_from_this()] { self->finish(); });
}

void SimClient::finish() {
  if (state_ != State::closed) return;
  if (line_) std::exchange(line_, nullptr)->close();
  fail_pending(Code::closing, true);
  host_->actor->at(Lane::loop, now(), [self = shared_from_this()] { self->on_event_ = {}; });
}

void SimClient::fail_pending(Code code, bool queued_too) {
  std::deque<Pending> kept;
  for (Pending& pending : std::exchange(pending_, {})) {
    if (pending.sent || queued_too) {
      pending.done({.code = code});
    } else {
      kept.push_back(std::move(pending));
    }
  }
  pending_.insert(pending_.begin(), std::make_move_iterator(kept.begin()),
                  std::make_move_iterator(kept.end()));
}

// ---- the connection -----------------------------------------------------------------------------

void SimClient::look_later() {
  state_ = State::looking;
  const auto pause = network_.world().between(0ms, network_.world().chance(700) ? 10ms : 150ms);
  host_->actor->at(Lane::loop, now() + pause, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->state_ == State::looking) self->look();
  });
}

void SimClient::look() {
  state_ = State::connecting;
  last_server_ = (last_server_ + 1 + network_.world().below(2)) % Ensemble::size;
  const auto number = ++lines_;
  const std::weak_ptr<SimClient> weak = weak_from_this();
  const auto mine = [weak, number](auto what) {
    const auto self = weak.lock();
    if (self && self->lines_ == number && self->line_) what(*self);
  };
  line_ = network_.open(
      host_, last_server_,
      {.on_say = [mine](const Say& say) { mine([&](SimClient& self) { self.heard(say); }); },
       .on_broken =
           [mine] {
             mine([](SimClient& self) { self.lose_line(self.network_.world().chance(700)); });
           }});
  heard_at_ = now();
  send({.kind = Kind::connect, .session = session_, .zxid = zxid_});
  watch_the_time(number);
}

void SimClient::heard(const Say& say) {
  const auto self = shared_from_this();  // a handler may let go of it
  heard_at_ = now();
  zxid_ = std::max(zxid_, say.zxid);
  switch (say.kind) {
    case Say::Kind::welcome:
      welcomed(say);
      break;
    case Say::Kind::expired:
      expire();
      break;
    case Say::Kind::pong:
      break;
    case Say::Kind::answer:
      answered(say);
      break;
    case Say::Kind::event:
      watches_.take(say.event);
      network_.world().note(host_->name + " hears of " + say.event.path);
      tell(say.event);
      break;
  }
}

void SimClient::welcomed(const Say& say) {
  if (state_ != State::connecting) return;
  state_ = State::connected;
  session_ = say.session;
  timeout_ = say.timeout;
  network_.world().note(
      fmt::format("{} is connected to {} in session {:x}", host_->name, last_server_, session_));
  send({.kind = Kind::set_watches, .zxid = zxid_, .watches = watches_});
  for (Pending& pending : pending_) {
    pending.sent = true;
    send(Ask{pending.ask});
  }
  told_connected_ = true;
  std::chrono::milliseconds told = say.timeout;
  if (network_.mutation() == Mutation::timeout_overstated) told *= 2;
  tell(Connected{.session = session_, .timeout = told});
}

void SimClient::answered(const Say& say) {
  if (pending_.empty()) return;
  const Pending oldest = std::move(pending_.front());
  pending_.pop_front();
  remember_watch(oldest.ask, say.code);
  oldest.done(say);
}

void SimClient::remember_watch(const Ask& ask, Code code) {
  if (ask.watching == Watching::no) return;
  if (ask.kind == Kind::exists && code == Code::no_node) watches_.absent.insert(ask.path);
  if (code != Code::ok) return;
  (ask.kind == Kind::children ? watches_.children : watches_.data).insert(ask.path);
}

void SimClient::lose_line(bool queued_too) {
  const auto self = shared_from_this();
  if (line_) std::exchange(line_, nullptr)->close();
  if (state_ != State::connected && state_ != State::connecting) return;
  look_later();
  const bool told = std::exchange(told_connected_, false);
  if (told) network_.world().note(host_->name + " is disconnected");
  const bool event_first = network_.world().chance(500);
  if (told && event_first) tell(Disconnected{});
  fail_pending(Code::connection_loss, queued_too);
  if (told && !event_first) tell(Disconnected{});
}

void SimClient::expire() {
  network_.world().note(fmt::format("{} hears that {:x} has ended", host_->name, session_));
  if (line_) std::exchange(line_, nullptr)->close();
  state_ = State::expired;
  fail_pending(Code::session_expired, true);
  tell(Expired{});
}

void SimClient::watch_the_time(std::uint64_t lines) {
  if (lines_ != lines || !line_) return;
  const auto patience = state_ == State::connected ? timeout_ * 2 / 3 : timeout_ / 3;
  if (now() - heard_at_ >= patience) {
    network_.world().note(host_->name + " gives up a connection");
    lose_line(network_.world().chance(700));
    return;
  }
  LocalTime next = heard_at_ + patience;
  if (state_ == State::connected) {
    if (now() - sent_at_ >= timeout_ / 3) send({.kind = Kind::ping});
    next = std::min(next, sent_at_ + timeout_ / 3);
  }
  next = std::min(next, now() + timeout_ / 6);
  host_->actor->at(Lane::loop, next, [weak = weak_from_this(), lines] {
    if (const auto self = weak.lock()) self->watch_the_time(lines);
  });
}

}  // namespace simba::zookeeper::rules
