// Whoever locks through simba::Client. The other users are in users.cpp.

#include <coroutine>
#include <exception>
#include <utility>

#include "sim/users/users.hpp"
#include "sim/world/store.hpp"
#include "simba/client/coroutine.hpp"

namespace simba::sim {

using namespace std::chrono_literals;

namespace {

/// A factory that belongs to someone else.
std::shared_ptr<MutexServiceFactory> borrowed(engine::LeaseServiceFactory& factory) {
  return {std::shared_ptr<void>{}, &factory};
}

}  // namespace

/// A coroutine that waits for one thing. Whoever has it may destroy it at any time but while it is
/// resumed, which takes no time here.
class ClientUser::Coroutine {
 public:
  struct promise_type {
    Coroutine get_return_object() {
      return Coroutine{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };

  Coroutine(Coroutine&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
  Coroutine& operator=(Coroutine&&) = delete;
  ~Coroutine() {
    if (handle_) handle_.destroy();
  }
  bool done() const noexcept { return handle_.done(); }

 private:
  explicit Coroutine(std::coroutine_handle<promise_type> handle) noexcept : handle_{handle} {}
  std::coroutine_handle<promise_type> handle_;
};

/// What the checker asks of a lock that is held, or was a moment ago.
class ClientUser::View final : public MutexContendService {
 public:
  explicit View(ClientUser& user) : user_{user} {}
  ServiceStatus status() const noexcept override { return ServiceStatus::running; }
  MutexState mutex_state() const override {
    return {MutexOwner::none(),
            MutexOwner{user_.party_.id,
                       {},
                       {.acquired_at = {}, .ttl_at = {}, .transition_at = lease_until()},
                       fencing_token(),
                       user_.around_.host.runtime()->clock}};
  }
  void start() override {}
  void stop() override {}
  void close() noexcept override {}
  MutexContender& contender() const noexcept override { std::terminate(); }  // nobody asks
  bool is_owner() const noexcept override { return user_.lock_.held(); }
  bool is_in_ttl() const noexcept override { return user_.lock_.held(); }
  LocalTime lease_until() const noexcept override {
    const nanoseconds left = lease_left();
    return left > 0ns ? user_.around_.host.local_now() + left : LocalTime::min();
  }
  nanoseconds lease_left() const noexcept override { return user_.lock_.lease_left(); }
  void let_lease_run_out() override {}
  std::stop_token lost() const override { return user_.lock_.lost(); }
  FencingToken fencing_token() const noexcept override { return user_.lock_.fencing_token(); }

 private:
  ClientUser& user_;
};

ClientUser::ClientUser(Surroundings around, Party& party)
    : User{around, party}, view_{std::make_unique<View>(*this)} {
  if (world().chance(
          300)) {  // shorter than that of the others, so that all bounds hold for it, too
    const nanoseconds usual = around_.checker.plan().ttl;
    party_.plan = around_.factory.plan_with(
        std::chrono::floor<std::chrono::milliseconds>(world().between(usual / 2, usual)));
  }
  make();
}

ClientUser::~ClientUser() = default;

void ClientUser::make() {
  client_ = std::make_shared<simba::Client>(borrowed(around_.factory));
  party_.barred = false;
}

void ClientUser::start() {
  if (looping_ || around_.host.ending) return;
  if (!client_) make();
  looping_ = true;
  wants_end_ = false;
  loop();
}

/// By another thread than its own.
void ClientUser::stop(bool by_close) {
  if (by_close) {
    wants_end_ = true;
    end_client();
  } else {
    cancel();
  }
}

void ClientUser::end() {
  wants_end_ = true;
  while (looping_) {
    cancel();
    end_client();
    around_.host.sleep(200ms);
  }
  end_client();
  around_.checker.has_stopped(party_);
}

void ClientUser::renew() {
  if (looping_) return;
  looping_ = true;
  end_client();
  if (!around_.host.ending) make();
  looping_ = false;
}

/// Whatever it waits for at this moment ends with an error.
void ClientUser::end_client() {
  auto client = std::exchange(client_, nullptr);
  if (!client) return;
  if (waiting_) around_.network.count(Fault::client_ended);
  if (blocked_) expect_end_of_wait("its client has ended");
  // A wait that blocks has a handle of its own.
  if (client.use_count() > 1) {
    timed(Rule::slow_stop, "Client::close()", around_.checker.stop_bound(),
          [&] { client->close(); });
  }
  timed(Rule::slow_stop, "~Client", around_.checker.stop_bound(), [&] { client.reset(); });
}

/// A thread that is blocked goes on at once; a coroutine is resumed when a callback thread is free.
void ClientUser::expect_end_of_wait(const char* why) {
  around_.host.spawn(unhurried, [this, wait = waits_, why] {
    if (!blocked_ || waits_ != wait) return;
    around_.checker.fail(Rule::late_return, fmt::format("{} still waits for m{}, though {}",
                                                        party_.id, party_.mutex, why));
  });
}

void ClientUser::cancel() {
  if (waiting_ && !give_up_.stop_requested()) around_.network.count(Fault::wait_cancelled);
  give_up_.request_stop();
  if (blocked_) expect_end_of_wait("it was cancelled");
}

void ClientUser::loop() {
  while (!wants_end_ && !around_.host.ending) {
    around_.host.sleep(world().between(1ms, around_.mood.rest_most));
    if (around_.mood.quiet || wants_end_ || around_.host.ending) continue;
    if (!client_) make();
    wait();
    if (lock_) {
      work();
      give_back();
    }
    party_.contends_since = never;
    around_.checker.has_stopped(party_);
  }
  looping_ = false;
}

// ---- waiting -------------------------------------------------------------------------------

void ClientUser::wait() {
  const std::size_t kind = world().below(4);  // 0: asks once, 1: forever, 2 and 3: for some time
  LockOptions options{.id = party_.id};
  const nanoseconds patience = world().between(1ms, 30s);
  if (party_.plan) options.ttl = party_.plan->ttl;
  if (kind == 0) options.wait = 0ns;
  if (kind >= 2) options.wait = patience;
  max_hold_ = world().chance(300) ? world().between(50ms, 20s) : never.time_since_epoch();
  if (max_hold_ != never.time_since_epoch()) options.max_hold = max_hold_;
  give_up_ = {};
  if (world().chance(20)) give_up_.request_stop();
  around_.checker.contends(party_);
  if (kind == 0) party_.contends_since = never;
  around_.host.scene().trace.event(world().now(), around_.host.name(), "{} wants the lock",
                                   party_.id);
  waiting_ = true;
  ++waits_;
  if (!around_.mood.quiet && world().chance(150)) disturb_later();
  // An answer to the one request, or none.
  const nanoseconds once =
      around_.checker.plan().initial_delay + 2 * around_.checker.plan().request_timeout + unhurried;
  const nanoseconds bound = kind == 0 ? once : kind == 1 ? nanoseconds::max() / 2 : patience;
  world().chance(500) ? wait_blocking(options, bound) : wait_suspended(options);
  waiting_ = false;
}

/// Cancels the wait, or ends the client, at any moment of it.
void ClientUser::disturb_later() {
  const nanoseconds delay = world().between(0us, world().chance(500) ? 5ms : 5s);
  const bool by_end = world().chance(300);
  around_.host.spawn(delay, [this, wait = waits_, by_end] {
    if (!waiting_ || waits_ != wait || around_.host.ending) return;
    by_end ? end_client() : cancel();
  });
}

void ClientUser::wait_blocking(const LockOptions& options, nanoseconds bound) {
  const auto client = client_;
  blocked_ = true;
  try {
    timed(Rule::late_return, "lock()", bound, [&] {
      if (world().chance(500)) {
        arrives(client->lock(mutex_name(party_.mutex), options, give_up_.get_token()));
      } else if (auto result =
                     client->try_lock(mutex_name(party_.mutex), options, give_up_.get_token())) {
        arrives(std::move(*result));
      }
    });
  } catch (const Error& error) {
    refused(error);
  }
  blocked_ = false;
}

void ClientUser::wait_suspended(const LockOptions& options) {
  finished_ = {};
  std::optional<Coroutine> coroutine{suspend(*client_, options)};
  if (world().chance(150)) {
    around_.host.sleep(world().between(0us, world().chance(500) ? 5ms : 5s), finished_.get_token());
    if (!coroutine->done()) around_.network.count(Fault::wait_abandoned);
  } else {
    // The callback threads may be busy with slow callbacks of others.
    around_.host.sleep(std::chrono::hours{1}, finished_.get_token());
    if (!coroutine->done()) {
      around_.checker.fail(Rule::late_return, fmt::format("a coroutine of {} that waits for m{} "
                                                          "was not resumed within an hour",
                                                          party_.id, party_.mutex));
    }
  }
  coroutine.reset();
}

ClientUser::Coroutine ClientUser::suspend(const simba::Client& client, LockOptions options) {
  try {
    if (world().chance(500)) {
      arrives(co_await lock_async(client, mutex_name(party_.mutex), options, give_up_.get_token()));
    } else if (auto result = co_await try_lock_async(client, mutex_name(party_.mutex), options,
                                                     give_up_.get_token())) {
      arrives(std::move(*result));
    }
  } catch (const Error& error) {
    refused(error);
  }
  finished_.request_stop();
}

void ClientUser::arrives(Lock lock) {
  lock_ = std::move(lock);
  held_since_ = world().now();
  party_.inside = true;
  party_.lock = &lock_;
  party_.service = view_.get();
  party_.contends_since = never;
}

void ClientUser::refused(const Error& error) {
  around_.host.scene().trace.event(world().now(), around_.host.name(), "{} has no lock: {}",
                                   party_.id, error.what());
}

// ---- holding -------------------------------------------------------------------------------

void ClientUser::work() {
  const std::stop_token lost = lock_.lost();
  const FencingToken token = lock_.fencing_token();
  around_.host.scene().trace.event(world().now(), around_.host.name(), "{} has the lock, token {}",
                                   party_.id, token);
  const std::size_t steps = 1 + world().below(4);
  for (std::size_t i = 0; i < steps && !around_.host.ending; ++i) {
    if (lock_.held()) use_resource(token);
    around_.host.sleep(world().between(1ms, around_.mood.work_most), lost);
    check_max_hold();
    if (lost.stop_requested()) break;
  }
  // Nobody else may have it as long as the lock is there, within the drain limit.
  if (lock_.loss() == Loss::max_hold && around_.mood.slow_most > 0ns && world().chance(700)) {
    party_.in_callback = true;
    around_.host.sleep(world().between(1ms, around_.checker.stop_bound() * 3 / 2));
    party_.in_callback = false;
  }
}

void ClientUser::check_max_hold() {
  if (!lock_.held() || around_.host.drowsy() || max_hold_ == never.time_since_epoch()) return;
  const nanoseconds held = world().now() - held_since_;
  if (held <= max_hold_ + max_hold_ / 1'000 + 50ms) return;
  around_.checker.fail(Rule::held_too_long,
                       fmt::format("{} holds m{} for {} ms, at most {} ms were asked for",
                                   party_.id, party_.mutex, held / 1ms, max_hold_ / 1ms));
}

/// In any of the ways in which a lock can be given back. None but the second waits.
void ClientUser::give_back() {
  Lock lock = std::move(lock_);
  party_.inside = false;
  party_.service = nullptr;
  party_.lock = nullptr;
  const std::size_t way = world().below(4);
  if (way == 0) {
    timed(Rule::slow_stop, "unlock()", 0ns, [&] { lock.unlock(); });
  } else if (way == 1) {
    timed(Rule::slow_stop, "unlock_confirmed()", around_.checker.plan().release_wait,
          [&] { static_cast<void>(lock.unlock_confirmed()); });
  } else if (way == 2) {
    timed(Rule::slow_stop, "~Lock", 0ns, [&] { const Lock last = std::move(lock); });
  } else {
    finished_ = {};
    const Coroutine coroutine = confirm(std::move(lock));
    around_.host.sleep(world().between(0us, 2s), finished_.get_token());
  }
}

ClientUser::Coroutine ClientUser::confirm(Lock lock) {
  static_cast<void>(co_await unlock_async(std::move(lock)));
  finished_.request_stop();
}

}  // namespace simba::sim
