// The port itself, engine::LeaseStore: what each request does and answers, and what watches tell.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/engine/lease_store.hpp"
#include "testkit/contract/support.hpp"

namespace simba::testkit::detail {
namespace {

using namespace std::chrono_literals;
using engine::AnswerHandler;
using engine::LeaseAnswer;
using engine::LeaseRecord;
using engine::LeaseRequest;
using engine::LeaseStore;
using engine::Notice;
using engine::Watch;

/// The answers to requests, as they come. Handlers keep it alive, so they may come late.
///
/// Threads: every function may be called from any thread.
class Answers {
 public:
  void add(LeaseAnswer answer) {
    const std::lock_guard lock{mutex_};
    all_.push_back(std::move(answer));
  }
  std::size_t size() const {
    const std::lock_guard lock{mutex_};
    return all_.size();
  }
  LeaseAnswer at(std::size_t index) const {
    const std::lock_guard lock{mutex_};
    return all_.at(index);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<LeaseAnswer> all_;  // guarded by mutex_
};

/// A client of the store, attached to it.
class Client {
 public:
  Client(const Contract& contract, const ContentionOptions& lease, std::uint64_t instance = 1)
      : contract_{contract},
        lease_{lease},
        instance_{instance},
        store_{contract.store().make_store(contract.location(), lease)},
        attachment_{store_->attach()} {
    // A store may refuse while it connects.
    EXPECT_TRUE(contract.eventually([&] { return try_retrieve(contract.fresh_name()).record(); }));
  }
  explicit Client(const Contract& contract) : Client{contract, contract.calm_lease()} {}

  LeaseRequest request_of(const std::string& mutex, const std::string& contender) const {
    return {.mutex = mutex,
            .contender_id = contender,
            .ttl = lease_.ttl,
            .transition = lease_.transition,
            .instance = instance_,
            .waiting_since = contract_.now()};
  }

  LeaseRecord acquire(const LeaseRequest& request) const {
    return record([&](AnswerHandler handler) { store_->acquire(request, std::move(handler)); });
  }
  LeaseRecord acquire(const std::string& mutex, const std::string& contender,
                      FencingToken takes_over = 0) const {
    LeaseRequest request = request_of(mutex, contender);
    request.takes_over = takes_over;
    return acquire(request);
  }
  /// For an owner that does not know that it is: where the store cannot tell whether it is, or a
  /// namesake, by taking over.
  LeaseRecord acquire_again(const std::string& mutex, const std::string& contender) const {
    const LeaseRecord found = acquire(mutex, contender);
    return found.namesake ? acquire(mutex, contender, found.fencing_token) : found;
  }
  LeaseRecord guard(const std::string& mutex, const std::string& contender) const {
    return record([&](AnswerHandler handler) {
      store_->guard(request_of(mutex, contender), std::move(handler));
    });
  }
  LeaseRecord release(const std::string& mutex, const std::string& contender,
                      FencingToken token) const {
    return record([&](AnswerHandler handler) {
      store_->release(request_of(mutex, contender), token, std::move(handler));
    });
  }
  LeaseRecord retrieve(const std::string& mutex) const {
    return record([&](AnswerHandler handler) {
      store_->retrieve(request_of(mutex, ""), std::move(handler));
    });
  }
  LeaseAnswer try_retrieve(const std::string& mutex) const {
    return answer([&](AnswerHandler handler) {
      store_->retrieve(request_of(mutex, ""), std::move(handler));
    });
  }

  /// The one answer to what `ask` sends.
  LeaseAnswer answer(const std::function<void(AnswerHandler)>& ask) const {
    const auto answers = std::make_shared<Answers>();
    ask([answers](LeaseAnswer one) { answers->add(std::move(one)); });
    if (!contract_.eventually([&] { return answers->size() > 0; })) {
      throw Error{ErrorKind::timeout, "no answer"};
    }
    EXPECT_EQ(answers->size(), 1U);
    return answers->at(0);
  }

  bool is_free(const std::string& mutex) const {
    return contract_.eventually([&] { return retrieve(mutex).owner_id.empty(); });
  }

  std::shared_ptr<LeaseStore>& store() { return store_; }

  /// Whether there was anything to end.
  bool detach() { return std::exchange(attachment_, nullptr) != nullptr; }
  void attach() { attachment_ = store_->attach(); }

  const Contract& contract() const noexcept { return contract_; }

 private:
  /// Asks again where the answer was an error that passes, as an owner does. Throws one that stays:
  /// the test ends, since nothing it would go on to compare says anything about safety.
  LeaseRecord record(const std::function<void(AnswerHandler)>& ask) const {
    constexpr int attempts = 5;
    for (int attempt = 1;; ++attempt) {
      const LeaseAnswer found = answer(ask);
      if (found.record() != nullptr) return *found.record();
      if (attempt == attempts || !found.error()->is_transient()) throw Error{*found.error()};
    }
  }

  const Contract& contract_;
  const ContentionOptions lease_;
  const std::uint64_t instance_;
  std::shared_ptr<LeaseStore> store_;
  std::shared_ptr<void> attachment_;
};

/// What a watch has told. Handlers keep it alive, so a notice may come late.
///
/// Threads: every function may be called from any thread.
class Notices {
 public:
  void add(const Notice& notice) {
    const std::lock_guard lock{mutex_};
    all_.push_back(notice);
  }
  std::vector<Notice> all() const {
    const std::lock_guard lock{mutex_};
    return all_;
  }
  std::size_t size() const { return all().size(); }
  std::optional<LeaseRecord> grant() const {
    for (const Notice& notice : all()) {
      if (notice.kind == Notice::Kind::granted) return notice.record;
    }
    return std::nullopt;
  }
  bool tells_of_a_loss() const {
    const auto told = all();
    return std::any_of(told.begin(), told.end(),
                       [](const Notice& notice) { return notice.kind == Notice::Kind::revoked; });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Notice> all_;  // guarded by mutex_
};

/// One who waits as the engine does: it asks, watches, and asks again at each notice.
///
/// Threads: used by the thread of the test.
class Waiter {
 public:
  Waiter(Client& client, std::string mutex, std::string id)
      : client_{client}, mutex_{std::move(mutex)}, id_{std::move(id)} {
    EXPECT_NE(client_.acquire(mutex_, id_).owner_id, id_);
    watch_ = client_.store()->watch(client_.request_of(mutex_, id_),
                                    [notices = notices_](const Notice& n) { notices->add(n); });
  }

  /// Does what the notices that have come ask for.
  void act() {
    if (owned_ || left_) return;
    if (const auto grant = notices_->grant()) {
      owned_ = grant;
    } else if (const std::size_t known = notices_->size(); known > heard_) {
      heard_ = known;
      const LeaseRecord found = client_.acquire(mutex_, id_);
      if (found.owner_id == id_) owned_ = found;
    }
  }

  bool owns() {
    act();
    return owned_.has_value();
  }
  FencingToken token() const { return owned_ ? owned_->fencing_token : 0; }
  std::optional<LeaseRecord> grant() const { return notices_->grant(); }
  bool told_of_a_loss() const { return notices_->tells_of_a_loss(); }

  /// Stops waiting.
  void leave() {
    watch_.reset();
    left_ = true;
    client_.release(mutex_, id_, 0);
  }

 private:
  Client& client_;
  const std::string mutex_;
  const std::string id_;
  const std::shared_ptr<Notices> notices_ = std::make_shared<Notices>();
  std::unique_ptr<Watch> watch_;
  std::size_t heard_ = 0;
  bool left_ = false;
  std::optional<LeaseRecord> owned_;
};

/// Until a store that needs more than one request to let someone wait has had them.
void settle(const Contract& contract, std::initializer_list<Waiter*> waiters) {
  static_cast<void>(contract.within(contract.scaled(200ms), [&] {
    for (Waiter* waiter : waiters) waiter->act();
    return false;
  }));
}

// ---- requests -----------------------------------------------------------------------------------

void the_store_has_the_stated_name_limits(Contract& contract) {
  Client client{contract};
  EXPECT_EQ(client.store()->name_limits().mutex, contract.store().name_limits.mutex);
  EXPECT_EQ(client.store()->name_limits().contender_id, contract.store().name_limits.contender_id);
}

void a_mutex_that_nobody_has_used_is_free(Contract& contract) {
  const Client client{contract};
  const LeaseRecord record = client.retrieve(contract.fresh_name());
  EXPECT_EQ(record.owner_id, "");
  EXPECT_EQ(record.fencing_token, 0U);
  EXPECT_EQ(record.transition_left, 0ms);
}

void a_grant_names_its_owner_and_a_token(Contract& contract) {
  const Client client{contract};
  const std::string mutex = contract.fresh_name();
  const LeaseRecord record = client.acquire(mutex, "a");
  EXPECT_EQ(record.owner_id, "a");
  EXPECT_GT(record.fencing_token, 0U);
  EXPECT_GT(record.ttl_left, 0ms);
  EXPECT_GT(record.transition_left, record.ttl_left);
  EXPECT_FALSE(record.namesake);
  const LeaseRecord seen = client.retrieve(mutex);
  EXPECT_EQ(seen.owner_id, "a");
  EXPECT_EQ(seen.fencing_token, record.fencing_token);
}

void a_grant_starts_a_full_lease(Contract& contract) {
  const auto lease = contract.calm_lease();
  const Client client{contract, lease};
  const LocalTime before = contract.now();
  const LeaseRecord record = client.acquire(contract.fresh_name(), "a");
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(contract.now() - before) + 2ms;
  EXPECT_LE(record.ttl_left, lease.ttl);
  EXPECT_GE(record.ttl_left, lease.ttl - took);
  EXPECT_LE(record.transition_left, length(lease));
  EXPECT_GE(record.transition_left, length(lease) - took);
  EXPECT_EQ(record.lease.ttl_at - record.lease.acquired_at, lease.ttl);
  EXPECT_EQ(record.lease.transition_at - record.lease.ttl_at, lease.transition);
}

void another_is_not_granted_a_held_mutex_and_learns_its_owner(Contract& contract) {
  const Client client{contract};
  const std::string mutex = contract.fresh_name();
  const FencingToken token = client.acquire(mutex, "a").fencing_token;
  const LeaseRecord record = client.acquire(mutex, "b");
  EXPECT_EQ(record.owner_id, "a");
  EXPECT_EQ(record.fencing_token, token);
  EXPECT_GT(record.transition_left, 0ms);
  EXPECT_EQ(client.retrieve(mutex).owner_id, "a");
}

void acquiring_again_is_a_new_grant(Contract& contract) {
  const auto lease = contract.calm_lease();
  const Client client{contract, lease};
  const std::string mutex = contract.fresh_name();
  const LeaseRecord first = client.acquire(mutex, "a");
  const LocalTime before = contract.now();
  const LeaseRecord second = client.acquire_again(mutex, "a");
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(contract.now() - before) + 2ms;
  EXPECT_EQ(second.owner_id, "a");
  EXPECT_TRUE(grows(first.fencing_token, second.fencing_token));
  EXPECT_GE(second.transition_left, first.transition_left - took) << "it starts a full lease";
}

void nobody_else_acquires_before_the_stated_end_of_a_lease(Contract& contract) {
  const Client client{contract, contract.short_lease()};
  const std::string mutex = contract.fresh_name();
  const LocalTime before = contract.now();
  const auto left = client.acquire(mutex, "a").transition_left;
  ASSERT_TRUE(contract.eventually([&] { return client.acquire(mutex, "b").owner_id == "b"; }));
  EXPECT_GE(contract.now() - before, left - 2ms) << safety_violation << "a lease ended early";
}

void after_its_lease_an_owner_cannot_renew_and_anyone_may_acquire(Contract& contract) {
  const Client client{contract, contract.short_lease()};
  const std::string mutex = contract.fresh_name();
  const FencingToken token = client.acquire(mutex, "a").fencing_token;
  ASSERT_TRUE(client.is_free(mutex));
  EXPECT_EQ(client.guard(mutex, "a").owner_id, "");
  const LeaseRecord record = client.acquire(mutex, "b");
  EXPECT_EQ(record.owner_id, "b");
  EXPECT_TRUE(grows(token, record.fencing_token));
  EXPECT_EQ(client.guard(mutex, "a").owner_id, "b");
  EXPECT_EQ(client.release(mutex, "a", token).owner_id, "b") << safety_violation;
}

void a_guard_restarts_the_lease(Contract& contract) {
  const auto lease = contract.clear_lease();
  const Client client{contract, lease};
  const std::string mutex = contract.fresh_name();
  const LeaseRecord granted = client.acquire(mutex, "a");
  LeaseRecord later;
  ASSERT_TRUE(contract.eventually([&] {
    later = client.retrieve(mutex);
    return later.transition_left < length(lease) - 30ms;
  }));
  const LeaseRecord renewed = client.guard(mutex, "a");
  EXPECT_EQ(renewed.owner_id, "a");
  EXPECT_GE(renewed.fencing_token, granted.fencing_token);
  EXPECT_GT(renewed.ttl_left, later.ttl_left);
  EXPECT_GT(renewed.transition_left, later.transition_left);
}

void a_guard_of_another_grants_and_changes_nothing(Contract& contract) {
  const Client client{contract};
  const std::string mutex = contract.fresh_name();
  const LeaseRecord granted = client.acquire(mutex, "a");
  EXPECT_NE(client.guard(mutex, "b").owner_id, "b") << safety_violation;
  const LeaseRecord seen = client.retrieve(mutex);
  EXPECT_EQ(seen.owner_id, "a");
  EXPECT_EQ(seen.fencing_token, granted.fencing_token);
  const std::string unused = contract.fresh_name();
  EXPECT_EQ(client.guard(unused, "b").owner_id, "");
  EXPECT_EQ(client.retrieve(unused).owner_id, "");
}

void a_release_under_its_token_frees_the_mutex(Contract& contract) {
  const Client client{contract};
  const std::string mutex = contract.fresh_name();
  const FencingToken token = client.acquire(mutex, "a").fencing_token;
  EXPECT_EQ(client.release(mutex, "a", token).owner_id, "");
  EXPECT_EQ(client.retrieve(mutex).owner_id, "");
  EXPECT_EQ(client.guard(mutex, "a").owner_id, "");
  EXPECT_TRUE(grows(token, client.acquire(mutex, "b").fencing_token));
}

void a_release_under_another_token_changes_nothing_and_tells_the_right_one(Contract& contract) {
  const Client client{contract};
  const std::string mutex = contract.fresh_name();
  const FencingToken first = client.acquire(mutex, "a").fencing_token;
  const FencingToken second = client.acquire_again(mutex, "a").fencing_token;
  const LeaseRecord record = client.release(mutex, "a", first);
  EXPECT_EQ(record.owner_id, "a");
  EXPECT_EQ(record.fencing_token, second);
  EXPECT_EQ(client.retrieve(mutex).owner_id, "a") << safety_violation << "released by an old token";
  EXPECT_EQ(client.release(mutex, "a", second).owner_id, "");
}

void a_release_of_another_changes_nothing(Contract& contract) {
  const Client client{contract};
  const std::string mutex = contract.fresh_name();
  const FencingToken token = client.acquire(mutex, "a").fencing_token;
  client.release(mutex, "b", token);
  client.release(mutex, "b", 0);
  EXPECT_EQ(client.retrieve(mutex).owner_id, "a") << safety_violation << "released by another";
  EXPECT_EQ(client.guard(mutex, "a").owner_id, "a");
}

void guards_and_releases_of_others_answer_with_the_owner(Contract& contract) {
  const Client client{contract};
  const std::string mutex = contract.fresh_name();
  const FencingToken token = client.acquire(mutex, "a").fencing_token;
  for (const LeaseRecord& record : {client.guard(mutex, "b"), client.release(mutex, "b", token),
                                    client.release(mutex, "b", 0)}) {
    EXPECT_EQ(record.owner_id, "a");
    EXPECT_EQ(record.fencing_token, token);
  }
}

void tokens_grow_from_one_ownership_to_the_next(Contract& contract) {
  const Client client{contract};
  const std::string mutex = contract.fresh_name();
  FencingToken last = 0;
  for (int i = 0; i < 5; ++i) {
    const FencingToken token = client.acquire(mutex, i % 2 == 0 ? "a" : "b").fencing_token;
    EXPECT_TRUE(grows(last, token));
    last = token;
    client.release(mutex, i % 2 == 0 ? "a" : "b", token);
  }
}

void mutexes_do_not_disturb_each_other(Contract& contract) {
  const Client client{contract};
  const std::string one = contract.fresh_name();
  const std::string another = contract.fresh_name();
  EXPECT_EQ(client.acquire(one, "a").owner_id, "a");
  const FencingToken token = client.acquire(another, "b").fencing_token;
  client.release(another, "b", token);
  EXPECT_EQ(client.retrieve(one).owner_id, "a");
  EXPECT_EQ(client.retrieve(another).owner_id, "");
}

/// Which is what an owner notices a fast clock by.
void grants_and_renewals_tell_the_time_that_leases_follow(Contract& contract) {
  const Client client{contract};
  const std::string mutex = contract.fresh_name();
  const LocalTime before = contract.now();
  const auto first = client.acquire(mutex, "a").store_time;
  const LocalTime between = contract.now();
  if (!first) GTEST_SKIP() << "the store's answers tell no time: its leases follow none of its own";
  ASSERT_TRUE(contract.eventually([&] { return contract.now() - between >= 100ms; }));
  const LocalTime again = contract.now();
  const auto second = client.guard(mutex, "a").store_time;
  if (!second) FAIL() << "a renewal tells no time, though a grant does";
  // A thousandth for the rates of the clocks, and their resolutions.
  EXPECT_GE(*second - *first, (again - between) * 999 / 1000 - 2ms);
  EXPECT_LE(*second - *first, (contract.now() - before) * 1001 / 1000 + 2ms);
}

void a_namesake_is_granted_nothing_and_told_so(Contract& contract) {
  const Client one{contract, contract.calm_lease(), 1};
  const Client other{contract, contract.calm_lease(), 2};
  const std::string mutex = contract.fresh_name();
  const FencingToken token = one.acquire(mutex, "a").fencing_token;
  const LeaseRecord record = other.acquire(mutex, "a");
  EXPECT_EQ(record.owner_id, "a");
  EXPECT_TRUE(record.namesake);
  EXPECT_EQ(record.fencing_token, token);
  const LeaseRecord guarded = other.guard(mutex, "a");
  EXPECT_TRUE(guarded.namesake || guarded.owner_id.empty()) << safety_violation;
  const LeaseRecord renewed = one.guard(mutex, "a");
  EXPECT_EQ(renewed.owner_id, "a");
  EXPECT_FALSE(renewed.namesake) << "it must not lose what nobody took from it";
  // By naming its token it may take over, unless the store knows that the owner is alive.
  const LeaseRecord taken = other.acquire(mutex, "a", renewed.fencing_token + 1);
  EXPECT_TRUE(taken.namesake) << safety_violation << "a token that was never granted";
  const LeaseRecord taken_over = other.acquire(mutex, "a", taken.fencing_token);
  EXPECT_EQ(taken_over.owner_id, "a");
  EXPECT_TRUE(taken_over.namesake || grows(token, taken_over.fencing_token));
}

// ---- handlers and lives -------------------------------------------------------------------------

void a_handler_may_send_the_next_request(Contract& contract) {
  Client client{contract};
  const LeaseRequest request = client.request_of(contract.fresh_name(), "a");
  const LeaseAnswer last = client.answer([&](const AnswerHandler& handler) {
    client.store()->acquire(
        request, [store = client.store(), request, handler](const LeaseAnswer& answer) {
          const auto* record = answer.record();
          store->release(request, record != nullptr ? record->fencing_token : 0, handler);
        });
  });
  ASSERT_NE(last.record(), nullptr) << last.error()->what();
  EXPECT_EQ(last.record()->owner_id, "");
}

void every_request_is_answered_once_also_by_a_store_that_is_closed(Contract& contract) {
  Client client{contract};
  const auto answers = std::make_shared<Answers>();
  const auto handler = [answers](LeaseAnswer answer) { answers->add(std::move(answer)); };
  constexpr std::size_t rounds = 10;
  const auto ask_all = [&] {
    for (std::size_t i = 0; i < rounds; ++i) {
      const LeaseRequest request = client.request_of(contract.fresh_name(), "a");
      client.store()->acquire(request, handler);
      client.store()->guard(request, handler);
      client.store()->retrieve(request, handler);
      client.store()->release(request, 1, handler);
    }
  };
  ask_all();
  client.detach();
  ask_all();
  client.store().reset();
  EXPECT_TRUE(contract.eventually([&] { return answers->size() >= 8 * rounds; }));
  EXPECT_EQ(answers->size(), 8 * rounds);
}

void a_store_that_nobody_is_attached_to_fails_requests_until_someone_is(Contract& contract) {
  Client client{contract};
  const std::string mutex = contract.fresh_name();
  if (client.detach()) {
    EXPECT_NE(client.try_retrieve(mutex).error(), nullptr);
  }
  client.attach();
  EXPECT_TRUE(contract.eventually([&] { return client.try_retrieve(mutex).record(); }));
  EXPECT_EQ(client.acquire(mutex, "a").owner_id, "a");
}

void the_last_user_may_let_go_inside_a_handler(Contract& contract) {
  const auto client = std::make_shared<Client>(contract);
  const std::string mutex = contract.fresh_name();
  const auto done = std::make_shared<std::atomic<bool>>(false);
  const auto store = client->store().get();
  store->acquire(client->request_of(mutex, "a"), [client, done](const LeaseAnswer&) {
    client->detach();
    client->store().reset();
    *done = true;
  });
  EXPECT_TRUE(contract.eventually([&] { return done->load(); }));
}

// ---- watches ------------------------------------------------------------------------------------

std::unique_ptr<Watch> observe(Client& client, const std::string& mutex,
                               const std::shared_ptr<Notices>& notices) {
  return client.store()->watch(client.request_of(mutex, ""),
                               [notices](const Notice& notice) { notices->add(notice); });
}

void an_observer_is_told_of_changes_and_never_granted_the_mutex(Contract& contract) {
  Client client{contract};
  Client other{contract};
  const std::string mutex = contract.fresh_name();
  const auto notices = std::make_shared<Notices>();
  const auto watch = observe(client, mutex, notices);
  std::size_t known = 0;
  const auto is_told = [&] {
    const bool told = contract.eventually([&] { return notices->size() > known; });
    known = notices->size();
    return told;
  };
  const FencingToken token = other.acquire(mutex, "a").fencing_token;
  EXPECT_TRUE(is_told());
  other.release(mutex, "a", token);
  EXPECT_TRUE(is_told());
  other.acquire(mutex, "b");
  EXPECT_TRUE(is_told());
  EXPECT_FALSE(notices->grant());
  EXPECT_EQ(other.retrieve(mutex).owner_id, "b");
}

void a_watch_may_end_inside_its_own_notice(Contract& contract) {
  Client client{contract};
  const std::string mutex = contract.fresh_name();
  struct Self {
    std::mutex mutex;
    std::unique_ptr<Watch> watch;
    std::atomic<bool> ended{false};
  };
  const auto self = std::make_shared<Self>();
  {
    auto watch = client.store()->watch(client.request_of(mutex, ""), [self](const Notice&) {
      std::unique_ptr<Watch> ending;
      {
        const std::lock_guard lock{self->mutex};
        ending = std::move(self->watch);
      }
      if (!ending) return;  // the first notice may come before `watch` has returned
      ending.reset();
      self->ended = true;
    });
    const std::lock_guard lock{self->mutex};
    self->watch = std::move(watch);
  }
  ASSERT_TRUE(contract.eventually([&] {
    const FencingToken token = client.acquire(mutex, "a").fencing_token;
    client.release(mutex, "a", token);
    return self->ended.load();
  }));
}

void a_watch_may_outlive_its_store(Contract& contract) {
  Client client{contract};
  const auto notices = std::make_shared<Notices>();
  auto observing = observe(client, contract.fresh_name(), notices);
  auto waiting = client.store()->watch(client.request_of(contract.fresh_name(), "a"),
                                       [notices](const Notice& notice) { notices->add(notice); });
  client.detach();
  client.store().reset();
  observing.reset();
  waiting.reset();
}

void the_last_user_may_let_go_inside_a_notice(Contract& contract) {
  const auto client = std::make_shared<Client>(contract);
  Client other{contract};
  const std::string mutex = contract.fresh_name();
  const auto done = std::make_shared<std::atomic<bool>>(false);
  const auto watch =
      client->store()->watch(client->request_of(mutex, ""), [client, done](const Notice&) {
        client->detach();
        client->store().reset();
        *done = true;
      });
  EXPECT_TRUE(contract.eventually([&] {
    const FencingToken token = other.acquire(mutex, "a").fencing_token;
    other.release(mutex, "a", token);
    return done->load();
  }));
}

void a_waiter_that_is_told_and_asks_gets_the_mutex(Contract& contract) {
  Client client{contract};
  Client other{contract};
  const std::string mutex = contract.fresh_name();
  const FencingToken token = other.acquire(mutex, "a").fencing_token;
  Waiter b{client, mutex, "b"};
  settle(contract, {&b});
  EXPECT_FALSE(b.owns()) << safety_violation;
  other.release(mutex, "a", token);
  ASSERT_TRUE(contract.eventually([&] { return b.owns(); }));
  EXPECT_EQ(other.retrieve(mutex).owner_id, "b");
  EXPECT_TRUE(grows(token, b.token()));
  EXPECT_EQ(client.release(mutex, "b", b.token()).owner_id, "");
}

void a_grant_by_notice_says_from_when_it_counts(Contract& contract) {
  Client client{contract};
  Client other{contract};
  const std::string mutex = contract.fresh_name();
  const FencingToken token = other.acquire(mutex, "a").fencing_token;
  Waiter b{client, mutex, "b"};
  settle(contract, {&b});
  other.release(mutex, "a", token);
  const LocalTime decided = contract.now();
  ASSERT_TRUE(contract.eventually([&] { return b.owns(); }));
  const auto grant = b.grant();
  if (!grant) FAIL() << "the notice has no record";
  EXPECT_EQ(grant->owner_id, "b");
  EXPECT_FALSE(grant->namesake);
  EXPECT_LE(grant->counted_from.value_or(LocalTime::max()), decided)
      << safety_violation << "a lease is counted too long";
  EXPECT_GT(grant->ttl_left, 0ms);
}

// What it asked before it heard of the grant comes after the store has decided it. Another waits
// behind it, who would get the mutex if that ended the ownership.
void an_acquisition_that_crosses_a_grant_does_not_end_it(Contract& contract) {
  Client client{contract};
  Client other{contract};
  const std::string mutex = contract.fresh_name();
  const FencingToken token = other.acquire(mutex, "a").fencing_token;
  const LeaseRequest crossing = client.request_of(mutex, "b");
  Waiter b{client, mutex, "b"};
  settle(contract, {&b});
  Waiter c{other, mutex, "c"};
  settle(contract, {&b, &c});
  other.release(mutex, "a", token);
  ASSERT_TRUE(contract.eventually([&] { return other.retrieve(mutex).owner_id == "b"; }));
  const LeaseRecord answer = client.acquire(crossing);
  EXPECT_EQ(answer.owner_id, "b");
  EXPECT_FALSE(answer.namesake);
  settle(contract, {&b, &c});
  EXPECT_GE(answer.fencing_token, b.token());  // it need not be told what the answer has said
  EXPECT_FALSE(b.told_of_a_loss());
  EXPECT_FALSE(c.owns());
  EXPECT_EQ(client.guard(mutex, "b").owner_id, "b");
  client.release(mutex, "b", answer.fencing_token);
  EXPECT_TRUE(contract.eventually([&] { return c.owns(); }));
}

void waiters_are_served_in_order_but_for_those_who_left(Contract& contract) {
  Client client{contract};
  Client other{contract};
  const std::string mutex = contract.fresh_name();
  const FencingToken token = other.acquire(mutex, "a").fencing_token;
  Waiter b{client, mutex, "b"};
  settle(contract, {&b});
  Waiter c{client, mutex, "c"};
  settle(contract, {&b, &c});
  Waiter d{client, mutex, "d"};
  settle(contract, {&b, &c, &d});
  c.leave();
  other.release(mutex, "a", token);
  ASSERT_TRUE(contract.eventually([&] { return b.owns(); }));
  EXPECT_FALSE(d.owns());
  client.release(mutex, "b", b.token());
  ASSERT_TRUE(contract.eventually([&] { return d.owns(); }));
  EXPECT_TRUE(grows(b.token(), d.token()));
  EXPECT_FALSE(c.grant());
}

}  // namespace

ContractCases port_cases() {
  constexpr auto port = Capability::lease_store;
  constexpr auto timed = Capability::timed_leases;
  constexpr auto prompt = Capability::prompt_hand_over;
  constexpr auto fair = Capability::fair_hand_over;
  return {
      {"PortHasTheStatedNameLimits", the_store_has_the_stated_name_limits, {port}},
      {"PortFindsAMutexThatNobodyHasUsedFree", a_mutex_that_nobody_has_used_is_free, {port}},
      {"PortGrantsNameTheirOwnerAndAToken", a_grant_names_its_owner_and_a_token, {port}},
      {"PortGrantsStartAFullLease", a_grant_starts_a_full_lease, {port, timed}},
      {"PortDoesNotGrantAHeldMutexToAnotherAndNamesItsOwner",
       another_is_not_granted_a_held_mutex_and_learns_its_owner,
       {port}},
      {"PortGrantsAgainUnderAGreaterToken", acquiring_again_is_a_new_grant, {port}},
      {"PortLetsNobodyElseInBeforeTheStatedEndOfALease",
       nobody_else_acquires_before_the_stated_end_of_a_lease,
       {port, timed}},
      {"PortRenewsNoLeaseThatIsOver",
       after_its_lease_an_owner_cannot_renew_and_anyone_may_acquire,
       {port, timed}},
      {"PortRestartsALeaseByAGuard", a_guard_restarts_the_lease, {port, timed}},
      {"PortChangesNothingByAGuardOfAnother",
       a_guard_of_another_grants_and_changes_nothing,
       {port}},
      {"PortFreesAMutexByAReleaseUnderItsToken", a_release_under_its_token_frees_the_mutex, {port}},
      {"PortChangesNothingByAReleaseUnderAnotherTokenAndTellsTheRightOne",
       a_release_under_another_token_changes_nothing_and_tells_the_right_one,
       {port}},
      {"PortChangesNothingByAReleaseOfAnother", a_release_of_another_changes_nothing, {port}},
      {"PortAnswersGuardsAndReleasesOfOthersWithTheOwner",
       guards_and_releases_of_others_answer_with_the_owner,
       {port, timed}},
      {"PortTokensGrowFromOneOwnershipToTheNext",
       tokens_grow_from_one_ownership_to_the_next,
       {port}},
      {"PortKeepsMutexesApart", mutexes_do_not_disturb_each_other, {port}},
      {"PortTellsTheTimeThatLeasesFollow",
       grants_and_renewals_tell_the_time_that_leases_follow,
       {port, timed}},
      {"PortGrantsANamesakeNothingAndTellsItSo",
       a_namesake_is_granted_nothing_and_told_so,
       {port, Capability::duplicate_ids}},
      {"PortHandlersMaySendTheNextRequest", a_handler_may_send_the_next_request, {port}},
      {"PortAnswersEveryRequestOnceAlsoWhenItIsClosed",
       every_request_is_answered_once_also_by_a_store_that_is_closed,
       {port}},
      {"PortFailsRequestsWhileNobodyIsAttached",
       a_store_that_nobody_is_attached_to_fails_requests_until_someone_is,
       {port}},
      {"PortMayBeLetGoInsideAHandler", the_last_user_may_let_go_inside_a_handler, {port}},
      {"PortTellsObserversOfChangesAndGrantsThemNothing",
       an_observer_is_told_of_changes_and_never_granted_the_mutex,
       {port, prompt}},
      {"PortWatchesMayEndInsideTheirOwnNotice",
       a_watch_may_end_inside_its_own_notice,
       {port, prompt}},
      {"PortWatchesMayOutliveTheirStore", a_watch_may_outlive_its_store, {port}},
      {"PortMayBeLetGoInsideANotice", the_last_user_may_let_go_inside_a_notice, {port, prompt}},
      {"PortGivesTheMutexToAWaiterThatIsToldAndAsks",
       a_waiter_that_is_told_and_asks_gets_the_mutex,
       {port, prompt}},
      {"PortGrantsByNoticeSayFromWhenTheyCount",
       a_grant_by_notice_says_from_when_it_counts,
       {port, fair}},
      {"PortKeepsAGrantThatAnAcquisitionCrosses",
       an_acquisition_that_crosses_a_grant_does_not_end_it,
       {port, fair}},
      {"PortServesWaitersInOrderButForThoseWhoLeft",
       waiters_are_served_in_order_but_for_those_who_left,
       {port, fair}},
  };
}

}  // namespace simba::testkit::detail
