#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/memory/memory_store_fixture.hpp"

namespace simba::memory {
namespace {

using engine::LeaseRecord;
using engine::Notice;
using engine::Watch;
using namespace std::chrono_literals;
using testing::ElementsAre;

using MemoryStoreWatchTest = MemoryStoreTest;

// ---- waiting -------------------------------------------------------------------------------

TEST_F(MemoryStoreWatchTest, AReleasePassesTheMutexToTheFirstWaiter) {
  Story b;
  Story c;
  acquire("a");
  const auto watch_b = watch("b", b);
  const auto watch_c = watch("c", c);
  EXPECT_EQ(release("a", 1).owner_id, "b");
  EXPECT_EQ(retrieve().owner_id, "b");
  EXPECT_EQ(release("b", 2).owner_id, "c");
  EXPECT_EQ(release("c", 3).owner_id, "") << "nobody waits any longer";
  EXPECT_THAT(b, ElementsAre("changed a 1", "granted b 2", "changed"));
  EXPECT_THAT(c, ElementsAre("changed a 1", "changed b 2", "granted c 3"));
}

TEST_F(MemoryStoreWatchTest, AGrantByNoticeIsCountedFromTheMomentOfGranting) {
  std::vector<Notice> notices;
  acquire("a");
  const auto w = store_->watch(request_of("b"), [&](const Notice& n) { notices.push_back(n); });
  clock_->advance(40ms);
  release("a", 1);
  const LeaseRecord record = notices.at(1).record.value();
  EXPECT_EQ(record.counted_from, clock_->now());
  EXPECT_EQ(record.ttl_left, ttl);
  EXPECT_EQ(record.transition_left, lease);
}

TEST_F(MemoryStoreWatchTest, WatchingAFreeMutexGrantsItAtOnce) {
  Story a;
  const auto w = watch("a", a);
  EXPECT_THAT(a, ElementsAre("granted a 1"));
  EXPECT_EQ(retrieve().owner_id, "a");
}

TEST_F(MemoryStoreWatchTest, WatchingAMutexWhoseLeaseIsOverGrantsItToTheFirstWaiter) {
  Story b;
  Story c;
  acquire("a");
  const auto watch_b = watch("b", b);
  clock_->advance(lease + 1ns);
  const auto watch_c = watch("c", c);
  EXPECT_THAT(b, ElementsAre("changed a 1", "granted b 2"));
  EXPECT_THAT(c, ElementsAre("changed b 2"));
}

TEST_F(MemoryStoreWatchTest, AnOwnerThatWatchesIsToldSoAndDoesNotWait) {
  Story a;
  acquire("a");
  const auto w = watch("a", a);
  EXPECT_EQ(release("a", 1).owner_id, "") << "not passed to itself";
  EXPECT_THAT(a, ElementsAre("changed a 1"));
}

TEST_F(MemoryStoreWatchTest, WhoAsksFirstAfterTheEndOfALeaseGetsTheMutexAlsoBeforeEarlierWaiters) {
  Story b;
  Story c;
  acquire("a");
  const auto watch_b = watch("b", b);
  const auto watch_c = watch("c", c);
  clock_->advance(lease + 1ns);
  EXPECT_EQ(acquire("c").owner_id, "c");
  EXPECT_EQ(release("c", 2).owner_id, "b") << "c has left the queue, b has not";
  EXPECT_THAT(b, ElementsAre("changed a 1", "changed c 2", "granted b 3"));
  EXPECT_THAT(c, ElementsAre("changed a 1")) << "its own doing it knows from the answer";
}

TEST_F(MemoryStoreWatchTest, ALateRenewalPassesTheMutexToTheFirstWaiter) {
  Story b;
  acquire("a");
  const auto w = watch("b", b);
  clock_->advance(lease + 1ns);
  EXPECT_EQ(guard("a").owner_id, "b");
  EXPECT_THAT(b, ElementsAre("changed a 1", "granted b 2"));
}

TEST_F(MemoryStoreWatchTest, ALateReleaseOfAnExpiredLeasePassesTheMutexOn) {
  Story b;
  acquire("a");
  const auto w = watch("b", b);
  clock_->advance(lease + 1ns);
  EXPECT_EQ(release("a", 1).owner_id, "b");
}

TEST_F(MemoryStoreWatchTest, AReleaseLeavesTheQueueWhateverItsToken) {
  Story b;
  Story c;
  acquire("a");
  const auto watch_b = watch("b", b);
  const auto watch_c = watch("c", c);
  EXPECT_EQ(release("b", 0).owner_id, "a");
  EXPECT_EQ(release("a", 1).owner_id, "c");
}

TEST_F(MemoryStoreWatchTest, AReleaseThatCrossesAGrantIsToldTheTokenOfThatGrant) {
  Story b;
  acquire("a");
  auto w = watch("b", b);
  release("a", 1);
  w.reset();
  const LeaseRecord record = release("b", 0);
  EXPECT_EQ(record.owner_id, "b");
  EXPECT_EQ(release("b", record.fencing_token).owner_id, "");
}

TEST_F(MemoryStoreWatchTest, AWaiterWhoseWatchHasEndedIsPassedOver) {
  Story b;
  Story c;
  acquire("a");
  auto watch_b = watch("b", b);
  const auto watch_c = watch("c", c);
  watch_b.reset();
  EXPECT_EQ(release("a", 1).owner_id, "c");
  EXPECT_THAT(b, ElementsAre("changed a 1"));
}

TEST_F(MemoryStoreWatchTest, AGrantToAWaiterThatLeavesBeforeHearingOfItGoesToTheNext) {
  Story b;
  Story c;
  std::unique_ptr<Watch> watch_b;
  acquire("a");
  const auto meddler = store_->watch(request_of(""), [&](const Notice& n) {
    if (n.record->fencing_token == 2) {
      release("a", 2);  // b is granted the mutex, and is told once this handler has returned
      watch_b.reset();
    }
  });
  watch_b = watch("b", b);
  const auto watch_c = watch("c", c);
  acquire("a");
  EXPECT_EQ(retrieve().owner_id, "c");
  EXPECT_THAT(b, ElementsAre("changed a 1"));
  EXPECT_THAT(c, ElementsAre("changed a 1", "changed a 2", "changed b 3", "granted c 4"));
}

// ---- observing -----------------------------------------------------------------------------

TEST_F(MemoryStoreWatchTest, AnObserverIsToldThePresentOwnerAndEveryChange) {
  Story story;
  const auto w = watch("", story);
  acquire("a");
  guard("a");
  release("a", 1);
  acquire("b");
  clock_->advance(lease + 1ns);
  acquire("c");
  EXPECT_THAT(story,
              ElementsAre("changed", "changed a 1", "changed", "changed b 2", "changed c 3"));
}

TEST_F(MemoryStoreWatchTest, NothingIsToldOnceTheWatchHasEnded) {
  Story story;
  auto w = watch("", story);
  w.reset();
  acquire("a");
  EXPECT_THAT(story, ElementsAre("changed"));
}

TEST_F(MemoryStoreWatchTest, NoticesStayInOrderWhenAHandlerChangesTheMutexAgain) {
  Story first;
  Story second;
  const auto w1 = store_->watch(request_of(""), [&](const Notice& n) {
    first.push_back(in_short(n));
    if (n.record->owner_id == "a") {
      release("a", n.record->fencing_token);
    }
  });
  const auto w2 = watch("", second);
  acquire("a");
  EXPECT_THAT(first, ElementsAre("changed", "changed a 1", "changed"));
  EXPECT_THAT(second, ElementsAre("changed", "changed a 1", "changed"));
}

}  // namespace
}  // namespace simba::memory
