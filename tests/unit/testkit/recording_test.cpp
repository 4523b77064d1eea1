#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/testkit/manual_clock.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"

namespace simba::testkit {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using Kind = RecordingContender::Call::Kind;

MutexOwner owner_of(const std::string& id, FencingToken token) {
  const auto clock = std::make_shared<ManualClock>();
  return {id, {}, {clock->now(), clock->now() + 1s, clock->now() + 2s}, token, clock};
}

TEST(RecordingContender, RemembersAllCallsInOrder) {
  RecordingContender me{"m", "me"};
  me.notify_owner({MutexOwner::none(), owner_of("other", 1)});
  me.notify_owner({owner_of("other", 1), owner_of("me", 2)});
  me.notify_owner({owner_of("me", 2), owner_of("me", 2)});
  me.on_event(OwnershipLost{LossReason::expired, 2});
  EXPECT_TRUE(me.holds());
  me.notify_owner({owner_of("me", 2), MutexOwner::none()});
  EXPECT_FALSE(me.holds());

  std::vector<Kind> kinds;
  std::vector<FencingToken> tokens;
  for (const auto& call : me.calls()) {
    kinds.push_back(call.kind);
    tokens.push_back(call.token);
  }
  EXPECT_THAT(kinds, ElementsAre(Kind::observed, Kind::acquired, Kind::event, Kind::released));
  EXPECT_THAT(tokens, ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(me.owners(), ElementsAre("other", "me", ""));
  EXPECT_THAT(me.tokens(), ElementsAre(2));
  EXPECT_EQ(me.acquisitions(), 1U);
  EXPECT_EQ(me.releases(), 1U);
  ASSERT_EQ(me.events().size(), 1U);
  EXPECT_EQ(std::get<OwnershipLost>(me.events()[0]).reason, LossReason::expired);
  me.clear();
  EXPECT_TRUE(me.calls().empty());
}

TEST(RecordingContender, TakesAnIdOfTheHostGeneratorIfItIsGivenNone) {
  EXPECT_NE(RecordingContender{"m"}.contender_id(), RecordingContender{"m"}.contender_id());
}

TEST(RecordingContender, CallsItsHooksAfterRecording) {
  std::vector<std::string> order;
  RecordingContender* self = nullptr;
  RecordingContender me{"m",
                        "me",
                        {.on_acquired =
                             [&](const MutexState&) {
                               order.push_back("acquired " + std::to_string(self->acquisitions()));
                             },
                         .on_released = [](const MutexState&) { throw std::runtime_error{"no"}; },
                         .on_event = [&](const ContentionEvent&) { order.emplace_back("event"); }}};
  self = &me;
  me.on_acquired({MutexOwner::none(), owner_of("me", 1)});
  me.on_event(AtRisk{1s});
  EXPECT_THROW(me.on_released({owner_of("me", 1), MutexOwner::none()}), std::runtime_error);
  EXPECT_THAT(order, ElementsAre("acquired 1", "event"));
  EXPECT_EQ(me.releases(), 1U);
}

TEST(RecordingContender, WaitsUntilWhatIsAwaitedWasRecorded) {
  RecordingContender me{"m", "me"};
  const std::jthread other{[&] {
    me.on_acquired({MutexOwner::none(), owner_of("me", 1)});
    me.on_released({owner_of("me", 1), MutexOwner::none()});
  }};
  EXPECT_TRUE(me.wait_for_acquisitions(1, 10s));
  EXPECT_TRUE(me.wait_for_releases(1, 10s));
  EXPECT_TRUE(me.wait_until([&] { return !me.holds(); }, 10s));
  EXPECT_FALSE(me.wait_for_acquisitions(2, 1ms));
  EXPECT_FALSE(me.wait_for_releases(2, 0ms));
}

TEST(RecordingContender, NoticesCallsThatOverlap) {
  RecordingContender* self = nullptr;
  RecordingContender me{"m",
                        "me",
                        {.on_acquired =
                             [&](const MutexState&) {
                               self->on_event(AtRisk{1s});
                               EXPECT_EQ(self->overlaps(), 0U) << "the same thread may";
                               std::jthread{[&] { self->on_event(AtRisk{1s}); }}.join();
                             },
                         .on_released = {},
                         .on_event = {}}};
  self = &me;
  me.on_acquired({MutexOwner::none(), owner_of("me", 1)});
  EXPECT_EQ(me.overlaps(), 1U);
}

TEST(RecordingRetriever, RemembersAllStatesInOrder) {
  int hooked = 0;
  RecordingRetriever observer{"m", [&](const MutexState&) { ++hooked; }};
  EXPECT_EQ(observer.mutex(), "m");
  EXPECT_EQ(observer.owner(), "");
  observer.notify_owner({MutexOwner::none(), owner_of("a", 1)});
  observer.notify_owner({owner_of("a", 1), owner_of("b", 2)});
  EXPECT_THAT(observer.owners(), ElementsAre("a", "b"));
  EXPECT_EQ(observer.owner(), "b");
  EXPECT_EQ(observer.states().at(1).before().owner_id(), "a");
  EXPECT_EQ(hooked, 2);
  observer.clear();
  EXPECT_EQ(observer.size(), 0U);
}

TEST(RecordingRetriever, WaitsForAnOwner) {
  RecordingRetriever observer{"m"};
  const std::jthread other{[&] { observer.notify_owner({MutexOwner::none(), owner_of("a", 1)}); }};
  EXPECT_TRUE(observer.wait_for_owner("a", 10s));
  EXPECT_TRUE(observer.wait_until([&] { return observer.size() == 1; }, 10s));
  EXPECT_FALSE(observer.wait_for_owner("b", 1ms));
}

}  // namespace
}  // namespace simba::testkit
