#include "sql/watching/watch_hub.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/testkit/manual_clock.hpp"

namespace simba::sql {
namespace {

using namespace std::chrono_literals;
using engine::LeaseRecord;
using engine::Notice;
using testing::ElementsAre;
using testing::IsEmpty;

LeaseRecord owned_by(const std::string& owner, FencingToken token) {
  LeaseRecord record;
  record.owner_id = owner;
  record.fencing_token = token;
  return record;
}

struct WatchHubTest : testing::Test {
  std::shared_ptr<Subscription> watch(const std::string& mutex) {
    auto subscription = std::make_shared<Subscription>(mutex, [this](const Notice& notice) {
      const bool renewed = notice.kind == Notice::Kind::renewed;
      told.push_back((renewed ? "renewed: " : "") + notice.record->owner_id);
    });
    hub.add(subscription);
    return subscription;
  }

  const std::shared_ptr<testkit::ManualClock> clock = std::make_shared<testkit::ManualClock>();
  WatchHub hub{clock};
  std::vector<std::string> told;
};

TEST_F(WatchHubTest, TellsWhatIsSeenFirstAndThenEachChangeOfOwner) {
  const auto watching = watch("m");
  hub.saw("m", owned_by("a", 1));
  hub.saw("m", owned_by("a", 1));
  hub.saw("m", owned_by("", 3));
  hub.saw("m", owned_by("b", 4));
  EXPECT_THAT(told, ElementsAre("a", "", "b"));
}

TEST_F(WatchHubTest, TellsThatTheOwnerHasRenewedOncePerRenewal) {
  const auto watching = watch("m");
  hub.saw("m", owned_by("a", 1));
  hub.saw("m", owned_by("a", 2));
  hub.saw("m", owned_by("a", 2));
  hub.saw("m", owned_by("a", 5));
  hub.saw("m", owned_by("b", 6));
  EXPECT_THAT(told, ElementsAre("a", "renewed: a", "renewed: a", "b"));
}

TEST_F(WatchHubTest, TellsANewcomerWhatTheOthersKnow) {
  const auto first = watch("m");
  hub.saw("m", owned_by("a", 1));
  const auto second = watch("m");
  hub.saw("m", owned_by("a", 1));
  EXPECT_THAT(told, ElementsAre("a", "a"));
}

TEST_F(WatchHubTest, TellsThatAMutexWasFreedAgainBetweenTwoLooks) {
  const auto watching = watch("m");
  hub.saw("m", owned_by("", 3));
  hub.saw("m", owned_by("", 3));
  hub.saw("m", owned_by("", 5));
  EXPECT_THAT(told, ElementsAre("", ""));
}

TEST_F(WatchHubTest, DoesNotTellWhatIsOlderThanWhatItTold) {
  const auto watching = watch("m");
  hub.saw("m", owned_by("b", 4));
  hub.saw("m", owned_by("a", 3));
  EXPECT_THAT(told, ElementsAre("b"));
}

TEST_F(WatchHubTest, TellsOfSmallerVersionsAfterTheTableWasRestored) {
  const auto watching = watch("m");
  const LocalTime asked_before = clock->now();
  clock->advance(1s);
  hub.saw("m", owned_by("a", 40));
  auto late = owned_by("b", 4);
  late.counted_from = asked_before;
  hub.saw("m", late);
  EXPECT_THAT(told, ElementsAre("a")) << "an answer that was overtaken";
  clock->advance(1s);
  auto restored = owned_by("", 5);
  restored.counted_from = clock->now();
  hub.saw("m", restored);
  EXPECT_THAT(told, ElementsAre("a", ""));
}

TEST_F(WatchHubTest, TellsThatALeaseIsOverAlthoughTheRowIsTheSame) {
  const auto watching = watch("m");
  hub.saw("m", owned_by("a", 4));
  hub.saw("m", owned_by("", 4));
  EXPECT_THAT(told, ElementsAre("a", ""));
}

TEST_F(WatchHubTest, TellsThatARowHasVanished) {
  const auto watching = watch("m");
  hub.saw("m", owned_by("a", 4));
  hub.saw(std::vector<std::string>{"m"}, {}, LocalTime{});
  EXPECT_THAT(told, ElementsAre("a", ""));
}

TEST_F(WatchHubTest, TellsNobodyOfWhatIsNotWatchedAnyMore) {
  const auto watching = watch("m");
  hub.remove(watching);
  hub.saw("m", owned_by("a", 1));
  EXPECT_THAT(told, IsEmpty());
  EXPECT_FALSE(hub.watches("m"));
}

TEST_F(WatchHubTest, AHandlerMayEndItsOwnWatch) {
  std::shared_ptr<Subscription> watching;
  int calls = 0;
  watching = std::make_shared<Subscription>("m", [&](const Notice&) {
    ++calls;
    hub.remove(watching);
  });
  hub.add(watching);
  hub.saw("m", owned_by("a", 1));
  hub.saw("m", owned_by("b", 2));
  EXPECT_EQ(calls, 1);
}

TEST_F(WatchHubTest, NamesThoseThatCameFirstInFront) {
  const auto z = watch("z");
  const auto a = watch("a");
  const auto z_again = watch("z");
  EXPECT_THAT(*hub.names(), ElementsAre("z", "a"));
  hub.remove(z);
  EXPECT_THAT(*hub.names(), ElementsAre("z", "a"));
  hub.remove(z_again);
  EXPECT_THAT(*hub.names(), ElementsAre("a"));
}

}  // namespace
}  // namespace simba::sql
