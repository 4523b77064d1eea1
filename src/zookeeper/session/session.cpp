#include "zookeeper/session/session.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "zookeeper/queue/node_names.hpp"

namespace simba::zookeeper {

void SessionEvidence::begun(LocalTime asked_at, std::chrono::nanoseconds settle) {
  settle_ = settle;
  counted_from_ = asked_at;
  unproven_.clear();
}

void SessionEvidence::answered(LocalTime sent_at, LocalTime now) {
  while (!unproven_.empty() && unproven_.front().answered_at + settle_ <= sent_at) {
    counted_from_ = std::max(counted_from_, unproven_.front().sent_at);
    unproven_.pop_front();
  }
  unproven_.push_back({.sent_at = sent_at, .answered_at = now});
}

// What was answered last came before the connection broke, and that before the leader admitted us.
void SessionEvidence::reconnected() {
  if (unproven_.empty()) return;
  counted_from_ = std::max(counted_from_, unproven_.back().sent_at);
  unproven_.clear();
}

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Of all paths that are watched. A server takes 1 MiB, with some bytes more for each.
constexpr std::size_t most_watched_bytes = 700'000;

/// So often in a row a connection may be of no use before the session is given up.
constexpr int most_unheard = 5;

/// One that ends sooner after it was asked for is not followed by another at once.
constexpr milliseconds shortest_session{300};

// A server reports to the leader twice in a tick; a quarter more for the way.
nanoseconds settling_time(milliseconds tick) { return nanoseconds{tick} * 5 / 8; }

}  // namespace

template <class... Args>
auto Session::here(std::function<void(Args...)> handler) {
  return [weak = weak_from_this(), strand = strand_, generation = generation_,
          shared = std::make_shared<std::function<void(Args...)>>(std::move(handler))](
             const std::decay_t<Args>&... args) {
    strand->post([weak, generation, shared, args...] {
      const auto self = weak.lock();
      if (self && self->generation_ == generation) (*shared)(args...);
    });
  };
}

Session::Session(std::shared_ptr<const Settings> settings, std::shared_ptr<Connector> connector,
                 std::shared_ptr<const Runtime> runtime, std::shared_ptr<Strand> strand,
                 SessionListener& listener)
    : settings_{std::move(settings)},
      connector_{std::move(connector)},
      runtime_{std::move(runtime)},
      strand_{std::move(strand)},
      listener_{listener},
      connections_{runtime_->statistics ? runtime_->statistics->connections() : nullptr} {}

void Session::need() {
  if (state_ == State::idle && !gate_.shut(runtime_->clock->now())) open();
}

Error Session::trouble() const {
  if (state_ == State::idle) {
    if (const auto error = gate_.shut(runtime_->clock->now())) return *error;
  }
  if (state_ == State::suspended) {
    return Error{
        ErrorKind::unavailable,
        fmt::format("ZooKeeper: lost the connection to [{}]; reconnecting", settings_->hosts)};
  }
  if (state_ == State::closed) {
    return Error{ErrorKind::unavailable, "ZooKeeper: the store is closed"};
  }
  return Error{
      ErrorKind::unavailable,
      fmt::format("cannot connect to ZooKeeper at [{}]: no server accepted the session for {} ms; "
                  "check that the servers are running, reachable and have a quorum; retrying",
                  settings_->hosts,
                  std::chrono::floor<milliseconds>(runtime_->clock->now() - opened_at_).count())};
}

bool Session::proven() const {
  return connected() && runtime_->clock->now() < counted_from() + nanoseconds{timeout_} * 3 / 4;
}

// ---- requests --------------------------------------------------------------------------------

void Session::create(const std::string& path, const std::string& data, NodeKind kind,
                     CreateHandler handler) {
  client_->create(path, data, kind, here(std::move(handler)));
}

void Session::remove(const std::string& path, DoneHandler handler) {
  client_->remove(path, here(std::move(handler)));
}

void Session::write(const NodeWrite& write, DoneHandler handler) {
  client_->write(write, here(std::move(handler)));
}

void Session::children(const std::string& path, Watching watching, ChildrenHandler handler) {
  client_->children(path, affordable(path, watching),
                    here(ChildrenHandler{[this, path, watching, handler = std::move(handler)](
                                             Code code, const std::vector<std::string>& names) {
                      if (code != Code::ok && watching == Watching::yes) forget_watch(path);
                      handler(code, names);
                    }}));
}

void Session::get(const std::string& path, Watching watching, DataHandler handler) {
  client_->get(path, affordable(path, watching),
               here(DataHandler{[this, path, watching, handler = std::move(handler)](
                                    Code code, const std::string& data, const NodeStat& stat) {
                 if (code != Code::ok && watching == Watching::yes) forget_watch(path);
                 handler(code, data, stat);
               }}));
}

void Session::exists(const std::string& path, Watching watching, StatHandler handler) {
  client_->exists(path, affordable(path, watching),
                  here(StatHandler{[this, path, watching, handler = std::move(handler)](
                                       Code code, const NodeStat& stat) {
                    const bool watched = code == Code::ok || code == Code::no_node;
                    if (!watched && watching == Watching::yes) forget_watch(path);
                    handler(code, stat);
                  }}));
}

void Session::sync(DoneHandler handler) { client_->sync(here(std::move(handler))); }

void Session::create_path(const std::string& path, DoneHandler handler) {
  for (const std::string& step : steps_to(path)) {
    create(step, {}, NodeKind::container,
           [this, step](Code code, const std::string& /*path*/, const NodeStat& /*stat*/) {
             if (code != Code::unimplemented || !connected()) return;
             create(step, {}, NodeKind::persistent,
                    [](Code, const std::string&, const NodeStat&) {});
           });
  }
  sync(std::move(handler));
}

// Without a watch a change is noticed when the contender or observer looks again by itself.
Watching Session::affordable(const std::string& path, Watching wanted) {
  if (wanted == Watching::no || watched_.contains(path)) return wanted;
  if (watched_bytes_ + path.size() > most_watched_bytes) {
    if (!std::exchange(too_many_watches_, true)) {
      runtime_->log->log(
          LogLevel::warn,
          fmt::format("ZooKeeper: this session has reached its limit of {} watched nodes; changes "
                      "of other nodes will be noticed up to one session timeout late",
                      watched_.size()));
    }
    return Watching::no;
  }
  watched_.insert(path);
  watched_bytes_ += path.size();
  return wanted;
}

void Session::forget_watch(const std::string& path) {
  if (watched_.erase(path) > 0) watched_bytes_ -= path.size();
}

// ---- life --------------------------------------------------------------------------------------

void Session::open() {
  state_ = State::connecting;
  ++generation_;
  takes_long_ = false;
  watched_.clear();
  watched_bytes_ = 0;
  unheard_ = 0;
  opened_at_ = runtime_->clock->now();
  try {
    client_ = connector_->connect(
        here(EventHandler{[this](const ClientEvent& event) { on_event(event); }}));
  } catch (const std::exception& e) {
    on(Failed{Error{ErrorKind::unavailable,
                    std::string{"ZooKeeper: cannot start a session: "} + e.what()}});
    return;
  }
  arm();
}

void Session::connection_opened() noexcept {
  if (connections_ && !std::exchange(open_, true)) connections_->opened();
}

void Session::connection_ended() noexcept {
  if (connections_ && std::exchange(open_, false)) connections_->closed();
}

void Session::drop_client() {
  connection_ended();
  ++generation_;
  if (client_) client_->close();
  client_.reset();
}

void Session::close() {
  state_ = State::closed;
  drop_client();
  timer_.reset();
}

void Session::on_event(const ClientEvent& event) {
  std::visit([this](const auto& e) { on(e); }, event);
}

void Session::on(const Connected& event) {
  const LocalTime now = runtime_->clock->now();
  if (state_ == State::suspended && event.session == id_) {
    if (++unheard_ > most_unheard && now > heard_at_ + timeout_) {
      start_new_session("servers accept it repeatedly but answer nothing");
      return;
    }
    timeout_ = event.timeout;
    evidence_.reconnected();
    state_ = State::connected;
    connection_opened();
    runtime_->log->log(LogLevel::info, "ZooKeeper: reconnected; the session continues");
    send_sign_of_life(now);
    listener_.session_resumed();
    return;
  }
  if (state_ != State::connecting) return;
  if (gate_.succeeded() || takes_long_) {
    runtime_->log->log(LogLevel::info, "ZooKeeper: connected; the session is established");
  }
  state_ = State::connected;
  connection_opened();
  id_ = event.session;
  timeout_ = event.timeout;
  heard_at_ = now;
  evidence_.begun(opened_at_, settling_time(checked_tick(event.timeout)));
  send_sign_of_life(now);
  listener_.session_begun();
}

milliseconds Session::checked_tick(milliseconds timeout) const {
  if (timeout != settings_->session_timeout) {
    runtime_->log->log(timeout < settings_->session_timeout ? LogLevel::info : LogLevel::debug,
                       fmt::format("ZooKeeper: the servers set the session timeout to {} ms "
                                   "instead of the requested {} ms",
                                   timeout.count(), settings_->session_timeout.count()));
  }
  const milliseconds tick = tick_of(*settings_, timeout);
  if (tick > timeout * 2 / 3) {
    runtime_->log->log(
        LogLevel::error,
        fmt::format("ZooKeeper: with a tick_time of {} ms, a session timeout of {} ms is too short "
                    "to own any mutex; set tick_time to the servers' tickTime",
                    tick.count(), timeout.count()));
  }
  return tick;
}

void Session::on(const Disconnected& /*event*/) {
  if (state_ != State::connected) return;
  state_ = State::suspended;
  connection_ended();
  runtime_->log->log(
      LogLevel::warn,
      fmt::format("ZooKeeper: lost the connection to [{}]; reconnecting", settings_->hosts));
  arm();
  listener_.session_suspended();
}

void Session::on(const Expired& /*event*/) {
  if (runtime_->clock->now() < opened_at_ + shortest_session) {
    on(Failed{Error{ErrorKind::unavailable,
                    "ZooKeeper: the servers ended the session as soon as it started"}});
  } else {
    start_new_session("ended by the servers");
  }
}

void Session::start_new_session(const std::string& why) {
  runtime_->log->log(LogLevel::warn,
                     "ZooKeeper: the session ended (" + why + "); starting a new one");
  end_session();
  open();
}

void Session::on(const Failed& event) {
  const bool had_session = state_ == State::connected || state_ == State::suspended;
  if (gate_.failed(event.error, runtime_->clock->now())) {
    runtime_->log->log(LogLevel::info, event.error.what());  // those that ask warn of it
  }
  if (had_session) {
    end_session();
  } else {
    if (connections_) connections_->failed();
    drop_client();
    state_ = State::idle;
    listener_.connecting_takes_long();
  }
  arm();
}

// Owners are told first: when the servers hear of the end, others may own what it held.
void Session::end_session() {
  ++generation_;  // no answer and no event of it counts from now on
  state_ = State::idle;
  listener_.session_ended();
  drop_client();
}

void Session::on(const NodeEvent& event) {
  forget_watch(event.path);
  listener_.node_changed(event);
}

// ---- time --------------------------------------------------------------------------------------

nanoseconds Session::beat() const {
  return std::max<nanoseconds>(nanoseconds{timeout_} / 10, milliseconds{10});
}

void Session::tick() {
  const LocalTime now = runtime_->clock->now();
  switch (state_) {
    case State::connecting:
      if (!takes_long_ && now >= opened_at_ + settings_->connection_timeout) {
        takes_long_ = true;
        runtime_->log->log(LogLevel::info, trouble().what());  // those that ask warn of it
        listener_.connecting_takes_long();
      }
      break;
    case State::connected:
      if (now >= next_beat_) {
        send_sign_of_life(now);
        listener_.session_ticked();
      }
      break;
    case State::idle:
      need();
      break;
    case State::suspended:
    case State::closed:
      break;
  }
  arm();
}

void Session::send_sign_of_life(LocalTime now) {
  next_beat_ = now + beat();
  sync([this, now](Code code) {
    if (code != Code::ok) return;
    heard_at_ = runtime_->clock->now();
    unheard_ = 0;
    evidence_.answered(now, heard_at_);
  });
  arm();
}

void Session::arm() {
  if (state_ == State::closed) return;
  if (!timer_) {
    timer_ = runtime_->timers->create([weak = weak_from_this(), strand = strand_] {
      strand->post([weak] {
        if (const auto self = weak.lock()) self->tick();
      });
    });
  }
  LocalTime due = never;
  if (state_ == State::connecting && !takes_long_) {
    due = opened_at_ + settings_->connection_timeout;
  } else if (state_ == State::connected) {
    due = next_beat_;
  } else if (state_ == State::idle) {
    due = gate_.opens_at();
  }
  timer_->arm(due);
}

}  // namespace simba::zookeeper
