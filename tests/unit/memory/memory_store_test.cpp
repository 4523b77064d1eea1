#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/memory/memory_store_fixture.hpp"

namespace simba::memory {
namespace {

using engine::LeaseAnswer;
using engine::LeaseRecord;
using engine::LeaseRequest;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

TEST_F(MemoryStoreTest, NeedsAClock) { EXPECT_THROW(MemoryStore{nullptr}, InvalidArgumentError); }

TEST_F(MemoryStoreTest, AGrantBeginsAFullLease) {
  const LeaseRecord record = acquire("a");
  EXPECT_EQ(record.owner_id, "a");
  EXPECT_EQ(record.ttl_left, ttl);
  EXPECT_EQ(record.transition_left, lease);
  EXPECT_EQ(record.lease.ttl_at - record.lease.acquired_at, ttl);
  EXPECT_EQ(record.lease.transition_at - record.lease.ttl_at, transition);
  EXPECT_GT(record.fencing_token, 0U);
  EXPECT_FALSE(record.counted_from) << "the moment before the request serves";
}

TEST_F(MemoryStoreTest, StoreTimeIsTheTimeOfDayInMilliseconds) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto acquired = acquire("a").lease.acquired_at.time_since_epoch();
  EXPECT_LT(std::chrono::abs(now - acquired), 1h);
  clock_->advance(lease + 1ms);
  EXPECT_EQ(acquire("a").lease.acquired_at.time_since_epoch(), acquired + lease + 1ms);
}

TEST_F(MemoryStoreTest, AHeldMutexIsNotGrantedToAnotherAndTheAnswerNamesTheOwner) {
  const FencingToken token = acquire("a").fencing_token;
  clock_->advance(30ms);
  const LeaseRecord record = acquire("b");
  EXPECT_EQ(record.owner_id, "a");
  EXPECT_EQ(record.fencing_token, token);
  EXPECT_EQ(record.ttl_left, ttl - 30ms);
  EXPECT_EQ(record.transition_left, lease - 30ms);
}

TEST_F(MemoryStoreTest, AFreeMutexLeavesNothingToTheNextThatIsUsed) {
  const FencingToken token = acquire("a", "first").fencing_token;
  release("a", token, "first");
  EXPECT_EQ(retrieve("second").owner_id, "");
  EXPECT_EQ(guard("a", "second").owner_id, "");
  const LeaseRecord record = acquire("b", "second");
  EXPECT_EQ(record.owner_id, "b");
  EXPECT_FALSE(record.namesake);
  EXPECT_EQ(record.transition_left, lease);
  EXPECT_EQ(record.fencing_token, token + 1);
  EXPECT_EQ(retrieve("first").owner_id, "");
}

TEST_F(MemoryStoreTest, TimeLeftIsNeverRoundedUp) {
  acquire("a");
  clock_->advance(1ns);
  EXPECT_EQ(retrieve().transition_left, lease - 1ms);
}

TEST_F(MemoryStoreTest, AcquiringAgainRenewsAndRaisesTheToken) {
  const LeaseRecord first = acquire("a");
  clock_->advance(30ms);
  const LeaseRecord second = acquire("a");
  EXPECT_EQ(second.owner_id, "a");
  EXPECT_GT(second.fencing_token, first.fencing_token);
  EXPECT_EQ(second.transition_left, lease);
  EXPECT_EQ(second.lease.acquired_at, first.lease.acquired_at + 30ms);
}

TEST_F(MemoryStoreTest, AtTheVeryEndOfALeaseTheOwnerMayRenewAndNobodyElseMayAcquire) {
  acquire("a");
  clock_->advance(lease);
  EXPECT_EQ(acquire("b").owner_id, "a");
  EXPECT_EQ(guard("a").owner_id, "a");
  EXPECT_EQ(retrieve().transition_left, lease);
}

TEST_F(MemoryStoreTest, AfterTheEndOfALeaseAnyoneMayAcquireAndTheOwnerMayNotRenew) {
  const FencingToken token = acquire("a").fencing_token;
  clock_->advance(lease + 1ns);
  EXPECT_EQ(retrieve().owner_id, "");
  EXPECT_EQ(guard("a").owner_id, "");
  const LeaseRecord record = acquire("b");
  EXPECT_EQ(record.owner_id, "b");
  EXPECT_GT(record.fencing_token, token);
  EXPECT_EQ(guard("a").owner_id, "b");
}

TEST_F(MemoryStoreTest, AGuardBeginsTheLeaseAnewUnderTheSameToken) {
  const LeaseRecord granted = acquire("a");
  clock_->advance(120ms);
  const LeaseRecord renewed = guard("a");
  EXPECT_EQ(renewed.owner_id, "a");
  EXPECT_EQ(renewed.fencing_token, granted.fencing_token);
  EXPECT_EQ(renewed.lease.acquired_at, granted.lease.acquired_at);
  EXPECT_EQ(renewed.ttl_left, ttl);
  EXPECT_EQ(renewed.transition_left, lease);
}

TEST_F(MemoryStoreTest, ANamelessContenderIsRefused) {
  std::vector<ErrorKind> kinds;
  const auto handler = [&](const LeaseAnswer& a) { kinds.push_back(a.error()->kind()); };
  store_->acquire(request_of(""), handler);
  store_->guard(request_of(""), handler);
  store_->release(request_of(""), 0, handler);
  EXPECT_THAT(kinds, testing::Each(ErrorKind::invalid_argument));
  EXPECT_EQ(kinds.size(), 3U);
}

TEST_F(MemoryStoreTest, AnEndlessLeaseDoesNotOverflow) {
  LeaseRequest request = request_of("a");
  request.ttl = milliseconds::max();
  request.transition = milliseconds::max();
  store_->acquire(request, [](const LeaseAnswer&) {});
  clock_->advance(24h * 365);
  EXPECT_EQ(acquire("b").owner_id, "a");
}

TEST_F(MemoryStoreTest, RecordsFollowTheWallClockHoweverItIsSet) {
  using Outcome = RecordAnswer::Outcome;
  const SystemTime noon = std::chrono::sys_days{std::chrono::year{2026} / 3 / 1} + 12h;
  const auto write = [&](std::uint64_t replaces) {
    RecordAnswer answer;
    store_->records()->write(
        {.mutex = "m", .text = "x", .replaces = replaces, .not_before = noon},
        [&](const RecordResult& result) { answer = std::get<RecordAnswer>(result); });
    return answer;
  };
  clock_->set_wall(noon - 1ms);
  EXPECT_EQ(write(0).outcome, Outcome::too_early);
  EXPECT_EQ(write(0).record.now, noon - 1ms);
  clock_->set_wall(noon);
  EXPECT_EQ(write(0).outcome, Outcome::written);
  clock_->set_wall(noon - 1h);
  EXPECT_EQ(write(1).outcome, Outcome::too_early);
  EXPECT_EQ(write(1).record.version, 1U);
}

}  // namespace
}  // namespace simba::memory
