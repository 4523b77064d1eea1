// Why there are never two owners, whatever happens to statements on their way: the rules by which
// the SQL stores change a row, with the real machine above them, in virtual time.
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
};

/// One row. A statement takes its time when it begins, then may wait for a lock for long, also past
/// the moment when its client gives up, and is carried out after all. Its reply may get lost.
class RowInTrouble final : public engine::LeaseStore {
 public:
  RowInTrouble(std::shared_ptr<const Runtime> runtime, std::uint64_t seed, Rules rules)
      : runtime_{std::move(runtime)}, random_{seed}, rules_{rules} {}

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
  std::unique_ptr<engine::Watch> watch(const LeaseRequest& /*request*/,
                                       engine::NoticeHandler /*handler*/) override {
    return std::make_unique<engine::Watch>();  // every hint is lost
  }

  /// Forgets what is under way, which holds those who have asked for it.
  void end() { const auto timers = std::exchange(timers_, {}); }

 private:
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

  void begin(std::optional<Change> change, const LeaseRequest& request, FencingToken token,
             AnswerHandler handler) {
    const milliseconds waits = chance(15) ? up_to(2s) : up_to(5ms);
    later(up_to(5ms), [=, this] {
      later(waits, [=, this, began = now()] {
        if (change) carry_out(*change, request, token, began);
        Row seen = row_;
        seen.now = now();
        if (chance(10)) return;  // the reply is lost
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
      return rules_ == Rules::as_they_are ? std::max(old, fresh) : fresh;
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
  Row row_{.mutex = "m", .owner_id = {}};
  std::vector<std::unique_ptr<Timer>> timers_;
};

struct RulesOutcome {
  bool two_owners = false;
  bool tokens_grow = true;
  std::size_t ownerships = 0;
};

/// Four contenders, some of which stop and start, for a minute.
RulesOutcome play(std::uint64_t seed, Rules rules) {
  testkit::ManualRuntime runtime{seed};
  const auto store = std::make_shared<RowInTrouble>(runtime.runtime(), seed, rules);
  ContentionOptions options;
  options.ttl = 1s;
  options.transition = 500ms;
  options.jitter = {-20ms, 50ms};
  engine::LeaseServiceFactory factory{store, runtime.runtime(), options};
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

}  // namespace
}  // namespace simba::sql
