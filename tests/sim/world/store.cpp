#include "sim/world/store.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace simba::sim {

using namespace std::chrono_literals;
using engine::AnswerHandler;
using engine::LeaseRecord;
using engine::LeaseRequest;
using engine::Notice;
using engine::NoticeHandler;
using std::chrono::milliseconds;

namespace {

/// How much the clocks of a host and of the server may differ in rate, in parts per million.
constexpr int allowed_drift = 500;

constexpr nanoseconds tell_again_after = 400ms;

std::size_t number_of(const std::string& mutex) {
  return static_cast<std::size_t>(std::stoul(mutex.substr(1)));
}

class SimWatch final : public engine::Watch {
 public:
  SimWatch(std::weak_ptr<SimStore> store, std::uint64_t number)
      : store_{std::move(store)}, number_{number} {}
  SimWatch(const SimWatch&) = delete;
  SimWatch& operator=(const SimWatch&) = delete;
  ~SimWatch() override {
    if (const auto store = store_.lock()) store->unwatch(number_);
  }

 private:
  const std::weak_ptr<SimStore> store_;
  const std::uint64_t number_;
};

}  // namespace

std::string mutex_name(std::size_t number) { return "m" + std::to_string(number); }

SimStore::SimStore(Host& host, Network& network, Checker& checker, nanoseconds patience)
    : host_{host}, network_{network}, checker_{checker}, patience_{patience} {
  network_.connect(host_, *this);
}

SimStore::~SimStore() { network_.disconnect(host_.number()); }

// ---- requests ------------------------------------------------------------------------------

void SimStore::acquire(const LeaseRequest& request, AnswerHandler handler) {
  this->request(Call::Kind::acquire, request, request.takes_over, std::move(handler));
}

void SimStore::guard(const LeaseRequest& request, AnswerHandler handler) {
  this->request(Call::Kind::guard, request, 0, std::move(handler));
}

void SimStore::release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) {
  this->request(Call::Kind::release, request, token, std::move(handler));
}

void SimStore::retrieve(const LeaseRequest& request, AnswerHandler handler) {
  this->request(Call::Kind::retrieve, request, 0, std::move(handler));
}

void SimStore::request(Call::Kind kind, const LeaseRequest& request, FencingToken token,
                       AnswerHandler handler) {
  World& world = host_.world();
  if (kind != Call::Kind::retrieve) {
    host_.scene().trace.event(world.now(), host_.name(), "{} asks: {} {}", request.contender_id,
                              name_of(kind), request.mutex);
  }
  if (kind == Call::Kind::acquire) checker_.asks_to_acquire(host_, request.contender_id);
  if (kind == Call::Kind::release) checker_.asks_to_release(host_, request.contender_id, token);
  if (refuses()) {
    handler(Error{ErrorKind::unavailable, "no connection"});
    return;
  }
  const std::uint64_t id = ++last_id_;
  pending_.emplace(id, Pending{.kind = kind,
                               .contender = request.contender_id,
                               .instance = request.instance,
                               .token = token,
                               .handler = std::move(handler),
                               .sent = host_.local_now(),
                               .sent_truly = world.now()});
  network_.request(Call{.kind = kind,
                        .client = host_.number(),
                        .mutex = number_of(request.mutex),
                        .contender = request.contender_id,
                        .ttl = request.ttl,
                        .transition = request.transition,
                        .token = token,
                        .instance = request.instance},
                   [this, id](const Answer& answer) { answered(id, answer); });
  expect_answer(id);
}

/// A client that knows that its connection is broken says so inside the call.
bool SimStore::refuses() const {
  return network_.unreachable(host_.number()) && host_.world().chance(300);
}

void SimStore::expect_answer(std::uint64_t id) {
  deadlines_.emplace_back(host_.world().now() + patience_, id);
  if (!sweeping_) sweep();
}

/// Fails what has waited too long; comes back when the next one has.
void SimStore::sweep() {
  const LocalTime now = host_.world().now();
  sweeping_ = true;
  while (!deadlines_.empty()) {
    const auto [due, id] = deadlines_.front();
    if (due > now && (pending_.contains(id) || texts_.contains(id))) break;
    deadlines_.pop_front();
    failed(id, ErrorKind::timeout, "no answer in time");
  }
  sweeping_ = !deadlines_.empty();
  if (!sweeping_) return;
  host_.run(Actor::Lane::loop, deadlines_.front().first, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->sweep();
  });
}

void SimStore::answered(std::uint64_t id, const Answer& answer) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  const auto keep = shared_from_this();
  const Pending pending = std::move(found->second);
  pending_.erase(found);
  sync_ = Sync{.local = pending.sent, .server = answer.at};
  if (pending.kind != Call::Kind::retrieve) {
    host_.scene().trace.event(host_.world().now(), host_.name(), "{} hears: {} -> [{}] {}",
                              pending.contender, name_of(pending.kind), answer.record.owner,
                              answer.record.token);
  }
  const bool mine =
      answer.record.owner == pending.contender && answer.record.instance == pending.instance;
  if (mine && pending.kind != Call::Kind::release) {
    checker_.heard(host_, pending.contender, pending.sent_truly, answer.given, answer.record.token);
  }
  LeaseRecord told = to_record(answer);
  told.namesake = told.owner_id == pending.contender && !mine;
  if (pending.kind == Call::Kind::guard) {
    const bool own = told.owner_id == pending.contender && mine;
    checker_.renewal_answered(host_, pending.contender, pending.sent_truly,
                              own ? told.fencing_token : 0);
  }
  if (pending.kind == Call::Kind::release && told.owner_id == pending.contender && mine &&
      told.fencing_token != pending.token) {
    checker_.still_named(host_, pending.contender, told.fencing_token);
  }
  const bool grant = pending.kind == Call::Kind::acquire && mine;
  if (grant) checker_.grant_arrives(host_, pending.contender);
  pending.handler(told);
  if (grant) checker_.grant_arrived(host_, pending.contender, answer.record.token);
}

void SimStore::failed(std::uint64_t id, ErrorKind kind, const char* what) {
  if (auto text = texts_.extract(id)) {
    const auto keep = shared_from_this();
    text.mapped()(Error{kind, what});
    return;
  }
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  const auto keep = shared_from_this();
  const AnswerHandler handler = std::move(found->second.handler);
  pending_.erase(found);
  handler(Error{kind, what});
}

// ---- texts ---------------------------------------------------------------------------------

void SimStore::Records::read(const std::string& mutex, RecordHandler handler) {
  store_.request({.kind = TextCall::Kind::read, .mutex = number_of(mutex)}, std::move(handler));
}

void SimStore::Records::write(const RecordWrite& write, RecordHandler handler) {
  store_.request({.kind = TextCall::Kind::write,
                  .mutex = number_of(write.mutex),
                  .write = write,
                  .contender = write.owner ? write.owner->contender_id : ""},
                 std::move(handler));
}

void SimStore::request(TextCall call, RecordHandler handler) {
  call.client = host_.number();
  if (refuses()) {
    handler(Error{ErrorKind::unavailable, "no connection"});
    return;
  }
  const std::uint64_t id = ++last_id_;
  texts_.emplace(id, std::move(handler));
  network_.request(std::move(call),
                   [this, id](RecordAnswer answer) { answered(id, std::move(answer)); });
  expect_answer(id);
}

void SimStore::answered(std::uint64_t id, RecordAnswer answer) {
  auto text = texts_.extract(id);
  if (!text) return;
  const auto keep = shared_from_this();
  if (network_.wall_clock() == WallClock::of_hosts) answer.record.now = host_.wall_now();
  text.mapped()(std::move(answer));
}

LeaseRecord SimStore::to_record(const Answer& answer) const {
  const auto left = [&](ServerTime at) {
    return std::chrono::floor<milliseconds>(std::max(at - answer.at, 0ns));
  };
  const auto shown = [&](ServerTime at) {
    return StoreTime{std::chrono::floor<milliseconds>(at + answer.wall_offset)};
  };
  const Record& record = answer.record;
  const bool over = record.owner.empty() || record.transition_at <= answer.at;
  const StoreTime now{std::chrono::floor<milliseconds>(answer.at)};
  if (over) return LeaseRecord{.fencing_token = record.token, .store_time = now};
  return LeaseRecord{.owner_id = record.owner,
                     .lease = {.acquired_at = shown(record.acquired_at),
                               .ttl_at = shown(record.ttl_at),
                               .transition_at = shown(record.transition_at)},
                     .ttl_left = left(record.ttl_at),
                     .transition_left = left(record.transition_at),
                     .fencing_token = record.token,
                     .store_time = now};
}

// ---- notices -------------------------------------------------------------------------------

std::unique_ptr<engine::Watch> SimStore::watch(const LeaseRequest& request, NoticeHandler handler) {
  const std::uint64_t id = ++last_id_;
  watches_.emplace(id, Subscription{.mutex = number_of(request.mutex),
                                    .contender = request.contender_id,
                                    .handler = std::move(handler)});
  tell(id);
  return std::make_unique<SimWatch>(weak_from_this(), id);
}

void SimStore::unwatch(std::uint64_t watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  found->second.wanted = false;
  found->second.settled = false;
  tell(watch);
}

/// Tells the server what we want of it, again and again until it knows.
void SimStore::tell(std::uint64_t watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end() || found->second.settled) return;
  const bool wanted = found->second.wanted;
  auto done = [weak = weak_from_this(), watch, wanted] {
    if (const auto self = weak.lock()) self->settled(watch, wanted);
  };
  if (wanted) {
    network_.subscribe(host_.number(), watch, found->second.mutex, found->second.contender,
                       std::move(done));
  } else {
    network_.unsubscribe(host_.number(), watch, found->second.mutex, found->second.contender,
                         std::move(done));
  }
  host_.run(Actor::Lane::loop, host_.world().now() + tell_again_after,
            [weak = weak_from_this(), watch, wanted] {
              const auto self = weak.lock();
              if (!self) return;
              const auto it = self->watches_.find(watch);
              if (it != self->watches_.end() && it->second.wanted == wanted) self->tell(watch);
            });
}

void SimStore::settled(std::uint64_t watch, bool wanted) {
  const auto found = watches_.find(watch);
  if (found == watches_.end() || found->second.wanted != wanted) return;
  found->second.settled = true;
  if (!wanted) watches_.erase(found);
}

// A notice that is under way when its watch ends may still come, or not.
void SimStore::noticed(std::uint64_t watch, Push::Kind kind, const Answer& answer) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  Subscription& subscription = found->second;
  if (!subscription.wanted && host_.world().chance(500)) {
    if (kind == Push::Kind::granted) {
      checker_.grant_arrived(host_, subscription.contender, answer.record.token);
    }
    return;
  }
  Notice notice;
  if (kind == Push::Kind::granted) {
    notice.kind = Notice::Kind::granted;
    notice.record = to_record(answer);
    if (sync_) {
      notice.record->counted_from = surely_before(answer.at);
      if (answer.record.token > subscription.granted) {
        subscription.granted = answer.record.token;
        checker_.heard(host_, subscription.contender, host_.true_time(*notice.record->counted_from),
                       answer.given, answer.record.token);
      }
    }
  } else if (kind == Push::Kind::renewed) {
    if (!sync_) return;
    notice.kind = Notice::Kind::renewed;
    notice.record = to_record(answer);
    notice.record->counted_from = surely_before(answer.at);
  } else if (host_.world().chance(500)) {
    notice.record = to_record(answer);
  }
  host_.scene().trace.event(host_.world().now(), host_.name(), "{} is told: m{} {}",
                            subscription.contender.empty() ? "observer" : subscription.contender,
                            subscription.mutex,
                            kind == Push::Kind::granted   ? "is granted to it"
                            : kind == Push::Kind::renewed ? "is renewed"
                                                          : "has changed");
  if (!subscription.contender.empty()) checker_.nudged(host_, subscription.contender);
  const NoticeHandler handler = subscription.handler;
  const std::string contender = subscription.contender;
  const bool grant = kind == Push::Kind::granted;
  if (grant && subscription.wanted) checker_.grant_arrives(host_, contender);
  handler(notice);
  if (grant) checker_.grant_arrived(host_, contender, answer.record.token);
}

LocalTime SimStore::surely_before(ServerTime at) const {
  const nanoseconds since = at - sync_->server;
  const nanoseconds allowance = std::max(since, -since) / 1'000'000 * allowed_drift;
  return sync_->local + since - allowance - 1us;
}

void SimStore::broken() {
  const auto keep = shared_from_this();
  std::erase_if(watches_, [](const auto& watch) { return !watch.second.wanted; });
  std::vector<std::uint64_t> all;
  for (auto& [id, watch] : watches_) {
    watch.settled = false;
    all.push_back(id);
  }
  for (const std::uint64_t id : all) tell(id);
  all.clear();
  for (const auto& [id, pending] : pending_) all.push_back(id);
  for (const auto& [id, handler] : texts_) all.push_back(id);
  for (const std::uint64_t id : all) {
    if (host_.world().chance(700)) failed(id, ErrorKind::in_doubt, "the connection broke");
  }
}

}  // namespace simba::sim
