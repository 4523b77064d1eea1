#include "sim/world/network.hpp"

#include <algorithm>
#include <utility>

namespace simba::sim {

using namespace std::chrono_literals;

std::string_view name_of(Fault fault) noexcept {
  constexpr std::array<std::string_view, fault_kinds> names{
      "requests lost",    "replies lost",    "notices lost",         "messages doubled",
      "messages late",    "partitions",      "server restarts",      "losses of memory",
      "crashes",          "pauses",          "pauses before acting", "restarts with the same id",
      "wall clock jumps", "slow callbacks",  "stops in callbacks",   "stops by two threads",
      "stops and starts", "waits cancelled", "coroutines destroyed", "clients ended while waiting",
      "schedules steered"};
  return names.at(static_cast<std::size_t>(fault));
}

Network::Network(const Scene& scene, Checker& checker, Server server, int drift_ppm,
                 WallClock wall_clock)
    : scene_{scene},
      checker_{checker},
      began_{scene.world.now()},
      drift_ppm_{drift_ppm},
      wall_clock_{wall_clock},
      server_{std::move(server)} {
  checker_.record_of = [this](std::size_t mutex) -> const Record& { return server_.record(mutex); };
  checker_.queues = [this](std::size_t mutex, const std::string& contender, std::size_t client) {
    return server_.waits(mutex, contender, client);
  };
  checker_.calm_since = [this](std::size_t client) { return calm_since(client); };
  checker_.server_true = [this](ServerTime at) { return true_time(at); };
}

ServerTime Network::server_time(LocalTime at) const {
  const nanoseconds passed = at - began_;
  return 1'000s + passed + passed * drift_ppm_ / 1'000'000;
}

LocalTime Network::true_time(ServerTime at) const {
  const nanoseconds shown = at - 1'000s;
  return began_ + shown - shown / (1'000'000 + drift_ppm_) * drift_ppm_;
}

SystemTime Network::wall_now(std::size_t client) const {
  if (wall_clock_ == WallClock::of_hosts) return links_[client].host->wall_now();
  const auto shown = right_wall_time(LocalTime{server_now() - 1'000s + 24h}) + wall_offset_;
  return std::chrono::floor<std::chrono::milliseconds>(shown);
}

void Network::connect(Host& host, Client& client) {
  if (links_.size() <= host.number()) links_.resize(host.number() + 1);
  links_[host.number()].host = &host;
  links_[host.number()].client = &client;
}

void Network::disconnect(std::size_t client) { links_[client].client = nullptr; }

bool Network::unreachable(std::size_t client) const {
  return down() || scene_.world.now() < links_[client].cut_until;
}

LocalTime Network::calm_since(std::size_t client) const {
  return std::max({links_[client].troubled_until, links_[client].cut_until, all_know_at_});
}

void Network::troubled(std::size_t client, LocalTime until) {
  links_[client].troubled_until = std::max(links_[client].troubled_until, until);
  late_until_ = std::max(late_until_, until);
}

// ---- messages ------------------------------------------------------------------------------

template <class... Args>
void Network::trace(const Label& label, fmt::format_string<Args...> what, Args&&... args) const {
  if (!scene_.trace.on()) return;
  scene_.trace.fault(scene_.world.now(), links_[label.client].host->name(), "{}{} of {} on m{} {}",
                     label.way, label.what,
                     label.contender.empty() ? "an observer" : label.contender, label.mutex,
                     fmt::format(what, std::forward<Args>(args)...));
}

nanoseconds Network::delay(const Label& label, bool surely_late) {
  if (!surely_late && (weather.late == 0 || !scene_.world.chance(weather.late))) {
    return scene_.world.between(weather.usual_least, weather.usual_most);
  }
  count(Fault::late);
  const nanoseconds span = scene_.world.between(weather.usual_most, weather.late_most);
  troubled(label.client, scene_.world.now() + span);
  trace(label, "takes {} ms", span / 1ms);
  return span;
}

/// Calls `arrive` with the moment at which the message comes, once, twice or never.
template <class Arrive>
void Network::post(const Label& label, int lost, Fault kind, const Arrive& arrive) {
  const LocalTime now = scene_.world.now();
  if (now < links_[label.client].cut_until) {
    troubled(label.client, now);
    trace(label, "is lost: cut off");
    return;
  }
  const bool gone = lost > 0 && scene_.world.chance(lost);
  // The later copy of a request may come after a release, and its answer is not waited for.
  const bool doubled = weather.doubled > 0 && scene_.world.chance(weather.doubled);
  const bool is_request = *label.way == '\0';
  const auto arrive_later = [&] {
    const LocalTime at = now + delay(label);
    if (doubled && is_request) troubled(label.client, at);
    arrive(at);
  };
  if (doubled) {
    count(Fault::doubled);
    trace(label, "is doubled");
    arrive_later();
  }
  if (gone) {
    count(kind);
    troubled(label.client, now);
    trace(label, "is lost");
    return;
  }
  arrive_later();
}

void Network::to_server(const Label& label, const std::function<void()>& task) {
  post(label, weather.lost, Fault::lost_request, [&](LocalTime at) {
    scene_.world.at(at, [this, task] {
      if (!down()) task();
    });
  });
}

void Network::to_client(const Label& label, int lost, Fault kind,
                        const std::function<void()>& task) {
  const Link& link = links_[label.client];
  if (link.client == nullptr || link.host->crashed()) return;
  post(label, lost, kind, [&](LocalTime at) {
    link.host->run(Actor::Lane::loop, at, [this, client = label.client, task] {
      if (links_[client].client != nullptr) task();
    });
  });
}

void Network::request(Call call, std::function<void(const Answer&)> deliver) {
  const Label label{call.client, "", name_of(call.kind), call.contender, call.mutex};
  const auto task = [this, call, deliver = std::move(deliver)] { execute(call, deliver); };
  if (call.kind == Call::Kind::acquire) links_[call.client].asked[call.contender] = call;
  if (call.kind == Call::Kind::release && weather.stray_releases > 0 &&
      scene_.world.chance(weather.stray_releases)) {
    count(Fault::doubled);
    trace(label, "is doubled");
    scene_.world.at(scene_.world.now() + delay(label, true), [this, task] {
      if (!down()) task();
    });
  }
  const auto asked = links_[call.client].asked.find(call.contender);
  if (call.kind == Call::Kind::release && weather.doubled > 0 &&
      asked != links_[call.client].asked.end() && scene_.world.chance(100)) {
    ask_again(asked->second, false);  // before the release or after it
  }
  to_server(label, task);
}

// A write is carried out once. A copy that comes later finds another version, and its answer goes
// to nobody; what was sent on a connection that is no more is not heeded.
void Network::request(TextCall call, std::function<void(RecordAnswer)> deliver) {
  const std::string contender = call.contender;
  const Label label{call.client, "", name_of(call.kind), contender, call.mutex};
  const std::uint64_t connection = links_[call.client].known;
  call.now = wall_now(call.client);
  to_server(label, [this, call = std::move(call), deliver = std::move(deliver), connection,
                    answered = std::make_shared<bool>(false)]() mutable {
    if (links_[call.client].connection != connection) return;
    if (wall_clock_ == WallClock::of_server) call.now = wall_now(call.client);
    const RecordAnswer answer = server_.execute(call, server_now());
    if (after_text) after_text(call, answer);
    if (std::exchange(*answered, true)) return;
    to_client({call.client, "reply to ", name_of(call.kind), call.contender, call.mutex},
              weather.lost + weather.lost_replies, Fault::lost_reply,
              [this, client = call.client, deliver, answer] {
                deliver(answer);
                if (answer.outcome == RecordAnswer::Outcome::written) maybe_nap(client);
              });
  });
}

/// Before it does what it may do now.
void Network::maybe_nap(std::size_t client) {
  if (weather.naps == 0 || !scene_.world.chance(weather.naps)) return;
  const nanoseconds span = scene_.world.between(1ms, weather.longest_nap);
  count(Fault::pause);
  scene_.trace.fault(scene_.world.now(), links_[client].host->name(),
                     "is paused for {} ms when it has written", span / 1ms);
  links_[client].host->pause(span);
}

/// Nobody waits for the answer.
void Network::ask_again(const Call& call, bool late) {
  const Label label{call.client, "", name_of(call.kind), call.contender, call.mutex};
  count(Fault::doubled);
  trace(label, "is doubled");
  const LocalTime at = scene_.world.now() + delay(label, late);
  troubled(call.client, at);
  scene_.world.at(at, [this, call] {
    if (!down()) execute(call, [](const Answer&) {});
  });
}

void Network::execute(const Call& call, const std::function<void(const Answer&)>& deliver) {
  const Record before = server_.record(call.mutex);
  const Record after = server_.execute(call, server_now());
  checker_.executed(call, *links_[call.client].host, before, server_.record(call.mutex));
  const Answer answer{after, server_now(), scene_.world.now(), wall_offset_};
  to_client({call.client, "reply to ", name_of(call.kind), call.contender, call.mutex},
            weather.lost + weather.lost_replies, Fault::lost_reply,
            [deliver, answer] { deliver(answer); });
  push_all();
}

void Network::push_all() {
  for (Push& push : std::exchange(server_.pushes, {})) {
    Answer answer{std::move(push.record), server_now(), scene_.world.now(), wall_offset_};
    to_client(
        {push.client, "notice ", name_of(push.kind), push.contender, push.mutex},
        weather.lost + weather.lost_notices, Fault::lost_notice,
        [this, client = push.client, watch = push.watch, kind = push.kind,
         answer = std::move(answer)] { links_[client].client->noticed(watch, kind, answer); });
  }
}

// A message of a connection that is no more is not heeded, nor one that was overtaken by the end.
void Network::subscribe(std::size_t client, std::uint64_t watch, std::size_t mutex,
                        const std::string& contender, std::function<void()> done) {
  to_server({client, "", "subscription", contender, mutex},
            [this, client, watch, mutex, contender, done = std::move(done),
             connection = links_[client].known] {
              const Link& link = links_[client];
              if (link.connection != connection || link.ended.contains(watch)) return;
              server_.subscribe(client, watch, mutex, contender);
              to_client({client, "reply to ", "subscription", contender, mutex}, weather.lost,
                        Fault::lost_reply, done);
              push_all();
            });
}

void Network::unsubscribe(std::size_t client, std::uint64_t watch, std::size_t mutex,
                          const std::string& contender, std::function<void()> done) {
  to_server({client, "", "end of subscription", contender, mutex},
            [this, client, watch, mutex, contender, done = std::move(done),
             connection = links_[client].known] {
              Link& link = links_[client];
              if (link.connection != connection) return;
              link.ended.insert(watch);
              server_.unsubscribe(client, watch);
              to_client({client, "reply to ", "end of subscription", contender, mutex},
                        weather.lost, Fault::lost_reply, done);
            });
}

// ---- troubles ------------------------------------------------------------------------------

void Network::restart_server(nanoseconds span, bool lose_memory) {
  if (down()) return;
  const LocalTime now = scene_.world.now();
  down_until_ = now + span;
  all_know_at_ = down_until_;
  count(lose_memory ? Fault::memory_loss : Fault::server_restart);
  scene_.trace.fault(now, "server", "goes down for {} ms{}", span / 1ms,
                     lose_memory ? " and forgets the last second" : "");
  if (lose_memory) {
    server_.restart_without_memory(server_time(now - 1s));
    checker_.forgot(now - 1s, now);
    if (after_loss) after_loss(now - 1s, now);
  } else {
    server_.restart();
  }
  break_all();
}

void Network::break_all() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    if (link.client == nullptr || link.host->crashed()) continue;
    ++link.connection;
    const LocalTime knows = down_until_ + scene_.world.between(0ms, 100ms);
    all_know_at_ = std::max(all_know_at_, knows);
    link.host->run(Actor::Lane::loop, knows, [this, i, connection = link.connection] {
      links_[i].known = connection;  // it may have broken again
      if (links_[i].client != nullptr) links_[i].client->broken();
    });
  }
}

void Network::cut(std::size_t client, nanoseconds span) {
  Link& link = links_[client];
  count(Fault::partition);
  scene_.trace.fault(scene_.world.now(), link.host->name(), "is cut off for {} ms", span / 1ms);
  link.cut_until = std::max(link.cut_until, scene_.world.now() + span);
}

void Network::lose(std::size_t client, nanoseconds span) {
  for (const auto& [contender, call] : links_[client].asked) {
    if (weather.doubled > 0 && scene_.world.chance(500)) ask_again(call, true);
  }
  links_[client].cut_until = never;
  scene_.world.at(scene_.world.now() + span, [this, client] {
    ++links_[client].connection;
    server_.forget_client(client);
  });
}

void Network::jump_wall_clock(nanoseconds by) {
  count(Fault::wall_clock_jump);
  scene_.trace.fault(scene_.world.now(), "server", "its wall clock jumps by {} ms", by / 1ms);
  if (before_jump) before_jump();
  wall_offset_ += by;
}

void Network::jump_wall_clock(Host& host, nanoseconds by) {
  count(Fault::wall_clock_jump);
  scene_.trace.fault(scene_.world.now(), host.name(), "its wall clock jumps by {} ms", by / 1ms);
  if (before_jump) before_jump();
  host.step_wall_clock(by);
}

void Network::calm() {
  weather = Weather{};
  for (Link& link : links_) {
    if (link.cut_until != never) link.cut_until = LocalTime::min();
  }
}

}  // namespace simba::sim
