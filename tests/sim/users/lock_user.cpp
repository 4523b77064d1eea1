#include <utility>

#include "sim/users/users.hpp"
#include "sim/world/store.hpp"

namespace simba::sim {

using namespace std::chrono_literals;

namespace {

/// Makes the services of a locker, and says which it has made.
class NotingFactory final : public MutexContendServiceFactory {
 public:
  explicit NotingFactory(engine::LeaseServiceFactory& factory) : factory_{factory} {}
  std::unique_ptr<MutexContendService> create_mutex_contend_service(
      MutexContender& contender, const ContendServiceOptions& options) override {
    auto service = factory_.create_mutex_contend_service(contender, options);
    made = service.get();
    return service;
  }
  std::shared_ptr<const Runtime> runtime() const noexcept override { return factory_.runtime(); }

  const MutexContendService* made = nullptr;

 private:
  engine::LeaseServiceFactory& factory_;
};

}  // namespace

LockUser::LockUser(Surroundings around, Party& party) : User{around, party} { make(); }

void LockUser::make() {
  NotingFactory factory{around_.factory};
  locker_ = std::make_shared<SimbaLocker>(mutex_name(party_.mutex), factory, party_.id);
  party_.service = factory.made;
  party_.barred = false;
}

void LockUser::start() {
  if (looping_ || !locker_) return;
  looping_ = true;
  wants_end_ = false;
  loop();
}

/// By another thread than its own: the lock is closed under its hands.
void LockUser::stop(bool by_close) {
  if (!locker_) return;
  if (by_close) {
    wants_end_ = true;
    close();
  } else if (acquiring_) {
    give_up_.request_stop();
  }
}

void LockUser::end() {
  wants_end_ = true;
  while (looping_) {
    close();
    around_.host.sleep(200ms);
  }
  destroy(std::exchange(locker_, nullptr));
}

void LockUser::renew() {
  if (looping_ || !locker_) return;
  looping_ = true;
  destroy(std::exchange(locker_, nullptr));
  if (!around_.host.ending) make();
  looping_ = false;
}

void LockUser::loop() {
  while (!wants_end_ && !around_.host.ending) {
    around_.host.sleep(world().between(1ms, around_.mood.rest_most));
    if (around_.mood.quiet || wants_end_ || around_.host.ending) continue;
    if (acquire()) work();
    close();
    around_.checker.has_stopped(party_);
  }
  looping_ = false;
}

bool LockUser::acquire() {
  const std::size_t kind = world().below(4);
  const nanoseconds timeout = world().between(1ms, 30s);
  const nanoseconds bound = around_.checker.stop_bound();
  bool held = false;
  give_up_ = {};
  acquiring_ = true;
  around_.checker.contends(party_);
  if (kind == 3) party_.contends_since = never;  // it asks once
  around_.host.scene().trace.event(world().now(), around_.host.name(), "{} wants the lock",
                                   party_.id);
  try {
    if (kind == 0) {
      locker_->acquire();
      held = true;
    } else if (kind == 1) {
      timed(Rule::late_return, "acquire(timeout)", timeout + bound, [&] {
        locker_->acquire(timeout);
        held = true;
      });
    } else if (kind == 2) {
      held = locker_->try_acquire(give_up_.get_token());
    } else {
      held = locker_->try_acquire();
    }
  } catch (const Error& error) {
    around_.host.scene().trace.event(world().now(), around_.host.name(), "{} has no lock: {}",
                                     party_.id, error.what());
  }
  acquiring_ = false;
  party_.contends_since = never;
  return held;
}

void LockUser::work() {
  party_.inside = true;
  const std::stop_token lost = locker_->lost();
  const FencingToken token = locker_->fencing_token();
  around_.host.scene().trace.event(world().now(), around_.host.name(), "{} has the lock, token {}",
                                   party_.id, token);
  if (locker_->is_held() && token != party_.service->fencing_token()) {
    around_.checker.fail(Rule::token_order,
                         fmt::format("{} holds with token {}, its locker says {}", party_.id,
                                     party_.service->fencing_token(), token));
  }
  const std::size_t steps = 1 + world().below(4);
  for (std::size_t i = 0; i < steps && party_.inside && !lost.stop_requested(); ++i) {
    if (locker_->is_held()) use_resource(token);
    around_.host.sleep(world().between(1ms, around_.mood.work_most));
  }
  party_.inside = false;
}

void LockUser::close() {
  if (!locker_) return;
  const auto locker = locker_;
  party_.inside = false;
  party_.contends_since = never;
  timed(Rule::slow_stop, "close()", 2 * around_.checker.stop_bound(), [&] { locker->close(); });
}

}  // namespace simba::sim
