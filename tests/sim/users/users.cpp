#include "sim/users/users.hpp"

#include <utility>

#include "sim/world/store.hpp"

namespace simba::sim {

using namespace std::chrono_literals;

// ---- User ----------------------------------------------------------------------------------

void User::use_resource(FencingToken token) {
  Resource& resource = around_.resources[party_.mutex];
  if (token < resource.top) return;
  resource.top = token;
  const std::uint64_t seen = resource.value;
  if (around_.mood.pause_before_act > 0 && world().chance(around_.mood.pause_before_act)) {
    const nanoseconds span = world().between(1ms, around_.mood.pause_most);
    around_.network.count(Fault::pause_before_act);
    around_.host.scene().trace.fault(world().now(), around_.host.name(),
                                     "is paused for {} ms before {} writes", span / 1ms, party_.id);
    around_.host.pause(span);
    around_.host.sleep(0ns);
  } else if (world().chance(300)) {
    around_.host.sleep(world().between(10us, 20ms));
  }
  if (token < resource.top) return;
  if (resource.value != seen) {
    around_.checker.fail(Rule::lost_update,
                         fmt::format("{} writes to the resource of m{} with token {} over an "
                                     "update that it has not read",
                                     party_.id, party_.mutex, token));
  }
  resource.value = seen + 1;
}

/// By the clock of the host, without its pauses.
class User::Stopwatch {
 public:
  explicit Stopwatch(const Host& host) : host_{host} {}
  nanoseconds read() const {
    return host_.local_now() - began_ - (host_.paused_in_all() - paused_);
  }

 private:
  const Host& host_;
  const LocalTime began_ = host_.local_now();
  const nanoseconds paused_ = host_.paused_in_all();
};

void User::called_back(const std::function<void()>& body) {
  const Stopwatch watch{around_.host};
  body();
  const auto within = own_callbacks_.find(Threads::current());
  if (within != own_callbacks_.end()) within->second += watch.read();
}

void User::timed(Rule rule, const char* words, nanoseconds bound,
                 const std::function<void()>& what) {
  const Stopwatch watch{around_.host};
  const bool outermost = !own_callbacks_.contains(Threads::current());
  const nanoseconds outer = std::exchange(own_callbacks_[Threads::current()], 0ns);
  const auto check = [&] {
    nanoseconds& own = own_callbacks_[Threads::current()];
    around_.checker.took(party_, rule, words, watch.read() - own, bound);
    own = outer;
    if (outermost) own_callbacks_.erase(Threads::current());
  };
  try {
    what();
  } catch (...) {
    check();
    throw;
  }
  check();
}

void User::destroy(std::shared_ptr<void> last) {
  if (!last) return;
  // Until its end the service says whether it owns.
  timed(Rule::slow_stop, "destructor", around_.checker.stop_bound(), [&] { last.reset(); });
  party_.service = nullptr;
  around_.checker.has_stopped(party_);
}

// ---- Service -------------------------------------------------------------------------------

void Service::end() {
  stop(true);
  while (stoppers_ > 0) around_.host.sleep(200ms);
  destroy(take());
}

// A scheduler is closed before it is destroyed, a service is left to its destructor.
void Service::renew() {
  if (stoppers_ > 0) return;
  stop(party_.kind == Party::Kind::scheduler);
  if (stoppers_ > 0) return;
  std::shared_ptr<void> last = take();
  if (!last) return;
  ++stoppers_;
  destroy(std::move(last));
  // A callback beyond its limit is left to itself. It must be over before the next one has a turn.
  while (party_.in_callback && !around_.host.ending) around_.host.sleep(200ms);
  --stoppers_;
  if (!around_.host.ending) make();
}

// ---- Candidate -----------------------------------------------------------------------------

class Candidate::Contender final : public AbstractMutexContender {
 public:
  explicit Contender(Candidate& user)
      : AbstractMutexContender{mutex_name(user.party_.mutex), user.party_.id, make_null_logger()},
        user_{user} {}
  void on_acquired(const MutexState& state) override {
    user_.called_back([&] { user_.acquired(state.after().fencing_token()); });
  }
  void on_released(const MutexState& /*state*/) override {
    user_.called_back([&] { user_.released(); });
  }

 private:
  Candidate& user_;
};

Candidate::Candidate(Surroundings around, Party& party)
    : Service{around, party}, contender_{std::make_unique<Contender>(*this)} {
  make();
}

void Candidate::make() {
  service_ = around_.factory.create_mutex_contend_service(*contender_);
  party_.service = service_.get();
}

void Candidate::start() {
  if (!service_ || stoppers_ > 0 || service_->status() != ServiceStatus::initial) return;
  around_.checker.started(party_);
  service_->start();
}

void Candidate::stop(bool by_close) {
  if (!service_) return;
  const bool ours = service_->status() == ServiceStatus::running;
  if (!ours && !by_close) return;
  ++stoppers_;
  const nanoseconds bound = around_.checker.stop_bound();
  if (ours) around_.checker.stop_begins(party_);
  if (by_close) {
    timed(Rule::slow_stop, "close()", ours ? bound : 2 * bound, [&] { service_->close(); });
  } else {
    timed(Rule::slow_stop, "stop()", bound, [&] { service_->stop(); });
  }
  if (ours) around_.checker.stop_returned(party_);
  --stoppers_;
}

void Candidate::acquired(FencingToken token) {
  around_.checker.acquired_begins(party_);
  const Mood& mood = around_.mood;
  use_resource(token);
  if (world().chance(mood.slow_callbacks)) {
    around_.network.count(Fault::slow_callback);
    around_.host.sleep(world().between(1ms, mood.slow_most));
  }
  if (world().chance(mood.stop_in_callback) && service_ && !around_.host.ending) {
    around_.network.count(Fault::stop_in_callback);
    party_.in_callback = false;  // on_released comes inside
    stop(false);
    if (world().chance(500)) start();
  }
  around_.checker.callback_ends(party_, false);
}

void Candidate::released() {
  around_.checker.released_begins(party_);
  if (world().chance(around_.mood.slow_callbacks)) {
    around_.network.count(Fault::slow_callback);
    around_.host.sleep(world().between(1ms, around_.mood.slow_most));
  }
  if (world().chance(around_.mood.withhold) && service_) {
    service_->let_lease_run_out();
    around_.checker.withholds(party_, service_->lease_until());
  }
  around_.checker.callback_ends(party_, true);
}

// ---- Observer ------------------------------------------------------------------------------

Observer::Observer(Surroundings around, std::size_t mutex)
    : around_{around}, number_{mutex}, name_{mutex_name(mutex)} {
  service_ = around_.factory.create_mutex_retrieval_service(*this);
}

void Observer::notify_owner(const MutexState& state) {
  around_.host.scene().trace.event(around_.host.world().now(), around_.host.name(),
                                   "observer of m{} sees [{}]", number_, state.after().owner_id());
  if (stopped_) {
    around_.checker.fail(Rule::callback_after_stop,
                         fmt::format("an observer of m{} in {} is called after stop()", number_,
                                     around_.host.name()));
  }
}

void Observer::start() {
  if (!service_ || service_->status() != ServiceStatus::initial) return;
  stopped_ = false;
  service_->start();
}

void Observer::stop() {
  if (!service_ || !service_->running()) return;
  service_->stop();
  stopped_ = true;
}

void Observer::end() {
  service_->close();
  stopped_ = true;
  service_.reset();
}

}  // namespace simba::sim
