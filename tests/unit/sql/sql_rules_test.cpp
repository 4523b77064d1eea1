// Why there are never two owners, whatever happens to statements on their way, and why a waiter
// that asks for nothing while it sees the owner renew still takes over in time: the rules by which
// the SQL stores change a row and look at it, with the real machine above them, in virtual time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simba/engine/lease_service_factory.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "sql/rows.hpp"
#include "sql/watching/watch_hub.hpp"
#include "support/safety.hpp"

namespace simba::sql {
namespace {

using namespace std::chrono_literals;
using engine::AnswerHandler;
using engine::LeaseAnswer;
using engine::LeaseRequest;
using std::chrono::milliseconds;

enum class Rules {
  as_they_are,
  late_renewals_shorten,  ///< broken: a statement that waited writes what it computed when it began
  looks_count_from_their_end,  ///< broken: a lease that a look shows counts from when that came
                               ///< back
};

/// What becomes of the looks of those who wait.
enum class Looks { lost, late_or_lost };

/// One row. A statement takes its time when it begins, then may wait for a lock for long, also past
/// the moment when its client gives up, and is carried out after all. Its reply may get lost.
class RowInTrouble final : public engine::LeaseStore {
 public:
  RowInTrouble(std::shared_ptr<const Runtime> runtime, std::uint64_t seed, Rules rules,
               Looks looks = Looks::lost)
      : runtime_{std::move(runtime)}, random_{seed}, rules_{rules} {
    if (looks == Looks::late_or_lost) look();
  }

  NameLimits name_limits() const noexcept override { return {}; }
  void acquire(const LeaseRequest& request, AnswerHandler handler) override {
    begin(Change::acquire, request, 0, std::move(handler));
  }
  void guard(const LeaseRequest& request, AnswerHandler handler) override {
    begin(Change::guard, request, 0, std::move(handler));
  }
  void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) override {
    begin(Change::release, request, token, std::move(handler));
  }
  void retrieve(const LeaseRequest& request, AnswerHandler handler) override {
    begin(std::nullopt, request, 0, std::move(handler));
  }
  std::unique_ptr<engine::Watch> watch(const LeaseRequest& request,
                                       engine::NoticeHandler handler) override {
    auto subscription = std::make_shared<Subscription>(request.mutex, std::move(handler));
    hub_->add(subscription);
    return std::make_unique<Watching>(hub_, std::move(subscription));
  }

  /// From now on no request of this contender is carried out; everything else works.
  void crash(std::string contender_id) { crashed_ = std::move(contender_id); }

  const std::string& owner_id() const { return row_.owner_id; }

  /// Forgets what is under way, which holds those who have asked for it.
  void end() { const auto timers = std::exchange(timers_, {}); }

 private:
  struct Watching final : engine::Watch {
    Watching(std::shared_ptr<WatchHub> hub, std::shared_ptr<Subscription> subscription)
        : hub_{std::move(hub)}, subscription_{std::move(subscription)} {}
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;
    ~Watching() override { hub_->remove(subscription_); }
    const std::shared_ptr<WatchHub> hub_;
    const std::shared_ptr<Subscription> subscription_;
  };

  bool chance(int percent) { return std::uniform_int_distribution{0, 99}(random_) < percent; }
  milliseconds up_to(milliseconds most) {
    return milliseconds{std::uniform_int_distribution<std::int64_t>{0, most.count()}(random_)};
  }

  void later(milliseconds delay, const std::function<void()>& what) {
    timers_.push_back(runtime_->timers->create(what));
    timers_.back()->arm(runtime_->clock->now() + delay);
  }

  std::int64_t now() const {
    return std::chrono::floor<milliseconds>(runtime_->clock->now().time_since_epoch()).count() +
           1'000'000;
  }

  void look() {
    const LocalTime asked_at = runtime_->clock->now();
    Row seen = row_;
    seen.now = now();
    if (!chance(40)) {
      later(chance(40) ? up_to(2s) : up_to(5ms), [=, this] {
        const bool from_start = rules_ != Rules::looks_count_from_their_end;
        hub_->saw({seen.mutex}, {seen}, from_start ? asked_at : runtime_->clock->now());
      });
    }
    later(400ms, [this] { look(); });
  }

  void begin(std::optional<Change> change, const LeaseRequest& request, FencingToken token,
             AnswerHandler handler) {
    if (request.contender_id == crashed_) return;
    const bool trouble = crashed_.empty();
    const milliseconds waits = trouble && chance(15) ? up_to(2s) : up_to(5ms);
    later(up_to(5ms), [=, this] {
      later(waits, [=, this, began = now()] {
        if (change) carry_out(*change, request, token, began);
        Row seen = row_;
        seen.now = now();
        if (trouble && chance(10)) return;  // the reply is lost
        later(up_to(5ms), [=] { handler(record_of(seen)); });
      });
    });
  }

  void carry_out(Change change, const LeaseRequest& request, FencingToken token,
                 std::int64_t began) {
    const bool mine = row_.owner_id == request.contender_id;
    if (change == Change::release) {
      if (mine && row_.version == token) {
        row_ = {.mutex = row_.mutex, .owner_id = {}, .version = row_.version + 1};
      }
      return;
    }
    const bool may = change == Change::acquire ? row_.transition_at < began || mine
                                               : mine && row_.transition_at >= began;
    if (!may) return;
    const auto at = [&](std::int64_t old, milliseconds span) {
      const std::int64_t fresh = began + span.count();
      return rules_ == Rules::late_renewals_shorten ? fresh : std::max(old, fresh);
    };
    row_.ttl_at = at(row_.ttl_at, request.ttl);
    row_.transition_at = at(row_.transition_at, request.ttl + request.transition);
    row_.acquired_at = began;
    row_.owner_id = request.contender_id;
    ++row_.version;
  }

  const std::shared_ptr<const Runtime> runtime_;
  std::mt19937_64 random_;
  const Rules rules_;
  const std::shared_ptr<WatchHub> hub_ = std::make_shared<WatchHub>(runtime_->clock);
  Row row_{.mutex = "m", .owner_id = {}};
  std::string crashed_{};
  std::vector<std::unique_ptr<Timer>> timers_;
};

struct RulesOutcome {
  bool two_owners = false;
  bool tokens_grow = true;
  std::size_t ownerships = 0;
};

ContentionOptions options_of_all() {
  ContentionOptions options;
  options.ttl = 1s;
  options.transition = 500ms;
  options.jitter = {-20ms, 50ms};
  return options;
}

/// Four contenders, some of which stop and start, for a minute.
RulesOutcome play(std::uint64_t seed, Rules rules) {
  testkit::ManualRuntime runtime{seed};
  const auto store = std::make_shared<RowInTrouble>(runtime.runtime(), seed, rules);
  engine::LeaseServiceFactory factory{store, runtime.runtime(), options_of_all()};
  RulesOutcome outcome;
  FencingToken last = 0;
  std::vector<std::unique_ptr<testkit::RecordingContender>> contenders;
  std::vector<std::unique_ptr<MutexContendService>> services;
  for (const char* id : {"a", "b", "c", "d"}) {
    contenders.push_back(std::make_unique<testkit::RecordingContender>("m", id));
    services.push_back(factory.create_mutex_contend_service(*contenders.back()));
    services.back()->start();
  }
  std::mt19937_64 random{seed * 7919};
  const MutexContendService* owner_before = nullptr;
  for (int step = 0; step < 6'000; ++step) {
    runtime.advance(10ms);
    const MutexContendService* owner = nullptr;
    for (const auto& service : services) {
      if (!service->is_owner()) continue;
      outcome.two_owners = outcome.two_owners || owner != nullptr;
      owner = service.get();
    }
    if (owner != nullptr && owner != owner_before) {
      ++outcome.ownerships;
      outcome.tokens_grow = outcome.tokens_grow && owner->fencing_token() > last;
      last = owner->fencing_token();
    }
    if (owner != nullptr) owner_before = owner;
    if (step % 150 == 0) {
      auto& service = services[random() % services.size()];
      if (service->status() == ServiceStatus::running) {
        service->stop();
      } else {
        service->start();
      }
    }
  }
  services.clear();
  runtime.advance(10s);  // releases are tried on until the lease is over
  store->end();
  return outcome;
}

constexpr std::uint64_t seeds = 40;

TEST(SqlRules, LateStaleAndLostStatementsNeverMakeTwoOwners) {
  std::size_t ownerships = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const RulesOutcome outcome = play(seed, Rules::as_they_are);
    EXPECT_FALSE(outcome.two_owners) << support::safety_violation << "seed " << seed;
    EXPECT_TRUE(outcome.tokens_grow) << support::safety_violation << "seed " << seed;
    ownerships += outcome.ownerships;
  }
  EXPECT_GT(ownerships, 5 * seeds) << "it must change hands, or nothing is shown";
}

TEST(SqlRules, TheTestWouldSeeTwoOwnersIfALateRenewalShortenedALease) {
  bool seen = false;
  for (std::uint64_t seed = 1; seed <= 5 * seeds && !seen; ++seed) {
    seen = play(seed, Rules::late_renewals_shorten).two_owners;
  }
  EXPECT_TRUE(seen);
}

/// Four contend and learn of renewals by looks, until the owner crashes. For how long it keeps
/// the mutex after that.
std::chrono::nanoseconds take_over(std::uint64_t seed, Rules rules) {
  testkit::ManualRuntime runtime{seed};
  const auto store =
      std::make_shared<RowInTrouble>(runtime.runtime(), seed, rules, Looks::late_or_lost);
  engine::LeaseServiceFactory factory{store, runtime.runtime(), options_of_all()};
  std::vector<std::unique_ptr<testkit::RecordingContender>> contenders;
  std::vector<std::unique_ptr<MutexContendService>> services;
  for (const char* id : {"a", "b", "c", "d"}) {
    contenders.push_back(std::make_unique<testkit::RecordingContender>("m", id));
    services.push_back(factory.create_mutex_contend_service(*contenders.back()));
    services.back()->start();
  }
  runtime.advance(10s + milliseconds{seed * 37 % 1'000});
  while (store->owner_id().empty()) runtime.advance(1ms);
  const std::string crashed = store->owner_id();
  store->crash(crashed);
  std::chrono::nanoseconds took{0};
  for (; store->owner_id() == crashed && took < 10s; took += 1ms) runtime.advance(1ms);
  services.clear();
  runtime.advance(10s);
  store->end();
  return took;
}

/// The longest that statements take, and how finely `take_over` sees the end.
constexpr milliseconds unhurried{20};

TEST(SqlRules, LateAndLostLooksNeverDelayTheTakeOverFromAnOwnerThatRenewed) {
  const auto bound = worst_cases(ContentionPlan{options_of_all()}).take_over + unhurried;
  for (std::uint64_t seed = 1; seed <= 5 * seeds; ++seed) {
    EXPECT_LE(take_over(seed, Rules::as_they_are), bound) << "seed " << seed;
  }
}

TEST(SqlRules, TheTestWouldSeeALateTakeOverIfALookCountedFromItsEnd) {
  const auto bound = worst_cases(ContentionPlan{options_of_all()}).take_over + unhurried;
  bool seen = false;
  for (std::uint64_t seed = 1; seed <= 5 * seeds && !seen; ++seed) {
    seen = take_over(seed, Rules::looks_count_from_their_end) > bound;
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace simba::sql
