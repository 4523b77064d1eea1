// Two services with one contender id, each on a factory of its own as in two processes.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <gmock/gmock.h>

#include "lease_contend_service_fixture.hpp"

namespace simba::engine {
namespace {

using testkit::Fault;
using testkit::Operation;

class LeaseContendServiceNamesake : public LeaseContendServiceTest {
 protected:
  static bool is_told(const Party& party) {
    const auto events = party.contender.events();
    return std::any_of(events.begin(), events.end(), [](const ContentionEvent& event) {
      const auto* lost = std::get_if<OwnershipLost>(&event);
      return lost != nullptr && lost->reason == LossReason::duplicate_id;
    });
  }
};

TEST_F(LeaseContendServiceNamesake, TheOlderOwnerStepsDownAtItsNextRenewalAndStaysOut) {
  Party older{*this, "twin"};
  older.service->start();
  runtime_.run_ready();
  ASSERT_TRUE(older.service->is_owner());
  Party newer{*this, "twin"};
  newer.service->start();
  runtime_.run_ready();
  ASSERT_TRUE(newer.service->is_owner());

  runtime_.advance(options_.ttl);
  EXPECT_FALSE(older.service->is_owner());
  EXPECT_TRUE(is_told(older));
  EXPECT_TRUE(logged("contender id [twin] is also used by another process"))
      << runtime_.log().text();
  runtime_.advance(10 * (options_.ttl + options_.transition));
  EXPECT_FALSE(older.service->is_owner());
  EXPECT_EQ(older.contender.acquisitions(), 1U);
  EXPECT_TRUE(newer.service->is_owner());
  EXPECT_EQ(newer.contender.acquisitions(), 1U);
  EXPECT_FALSE(is_told(newer));
}

TEST_F(LeaseContendServiceNamesake, OneThatStopsBeforeItHasNoticedDoesNotReleaseTheOthersMutex) {
  Party older{*this, "twin"};
  older.service->start();
  Party newer{*this, "twin"};
  newer.service->start();
  runtime_.run_ready();
  older.service->stop();
  runtime_.advance(10 * (options_.ttl + options_.transition));
  EXPECT_TRUE(newer.service->is_owner());
  EXPECT_EQ(newer.contender.acquisitions(), 1U);
}

TEST_F(LeaseContendServiceNamesake, ARequestOfACrashedLifeThatComesLateTakesNothingFromTheNextOne) {
  Party next{*this, "me"};
  next.service->start();
  runtime_.run_ready();
  ASSERT_TRUE(next.service->is_owner());
  const LeaseRequest late{.mutex = "m",
                          .contender_id = "me",
                          .ttl = options_.ttl,
                          .transition = options_.transition,
                          .instance = 4'711};
  std::optional<LeaseAnswer> answer;
  store_->acquire(late, [&](LeaseAnswer told) { answer = std::move(told); });
  store_->guard(late, [](const LeaseAnswer&) {});
  ASSERT_TRUE(answer && answer->record() != nullptr);
  EXPECT_TRUE(answer->record()->namesake);
  runtime_.advance(10 * (options_.ttl + options_.transition));
  EXPECT_TRUE(next.service->is_owner());
  EXPECT_EQ(next.contender.acquisitions(), 1U);
  EXPECT_FALSE(is_told(next));
}

TEST_F(LeaseContendServiceNamesake, LostAnswersAreNoEvidence) {
  Party me{*this, "me"};
  me.line->next(Operation::acquire, Fault::lose_answer());
  me.service->start();
  runtime_.advance(options_.ttl);
  ASSERT_TRUE(me.service->is_owner());
  for (int i = 0; i < 20; ++i) {
    me.line->next(Operation::guard, Fault::lose_answer());
    runtime_.advance(options_.ttl / 3);
  }
  EXPECT_TRUE(me.service->is_owner());
  EXPECT_FALSE(is_told(me));
}

TEST_F(LeaseContendServiceNamesake, ASecondOneOfTheSameFactoryDoesNotStart) {
  Party me{*this, "me"};
  me.service->start();
  runtime_.run_ready();
  RecordingContender twin{"m", "me"};
  const auto second = me.factory.create_mutex_contend_service(twin);
  try {
    second->start();
    FAIL() << "two contenders with one id";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::duplicate_id);
  }
  EXPECT_EQ(second->status(), ServiceStatus::initial);
  me.service->stop();
  second->start();
  runtime_.run_ready();
  EXPECT_TRUE(second->is_owner());
  second->stop();
}

/// Why a service does not start; nothing: it has started.
std::optional<ErrorKind> refusal_of(MutexContendService& service) {
  try {
    service.start();
  } catch (const Error& error) {
    return error.kind();
  }
  return std::nullopt;
}

TEST_F(LeaseContendServiceNamesake, TheNextOneOfTheFactoryStartsWhenTheCallbacksBeforeItAreOver) {
  std::unique_ptr<MutexContendService> next;
  std::optional<ErrorKind> refused;
  Party me{*this, "me", {.on_released = [&](const MutexState&) { refused = refusal_of(*next); }}};
  RecordingContender twin{"m", "me"};
  next = me.factory.create_mutex_contend_service(twin);
  me.service->start();
  runtime_.run_ready();
  me.service->stop();
  EXPECT_EQ(refused, ErrorKind::duplicate_id) << "it would own what on_released relies on";
  EXPECT_EQ(refusal_of(*next), std::nullopt);
  runtime_.run_ready();
  EXPECT_TRUE(next->is_owner());
  next.reset();
}

}  // namespace
}  // namespace simba::engine
