#include "redis/protocol/lease_answer.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/redis/fake_connection.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;

const engine::LeaseRequest request{
    .mutex = "m", .contender_id = "me", .ttl = 10s, .transition = 6s};

Reply answer(const std::string& owner, const std::string& token, std::int64_t left,
             std::int64_t ttl, std::int64_t transition, const std::string& instance = "0") {
  return array_reply({text_reply(owner), text_reply(token), integer_reply(left), integer_reply(ttl),
                      integer_reply(transition), text_reply("1700000000"), text_reply("123456"),
                      text_reply(instance)});
}

engine::LeaseRecord record_of(const Reply& reply) {
  const auto parsed = parse_lease_answer(reply, request);
  if (parsed.error() != nullptr) throw *parsed.error();
  return *parsed.record();
}

TEST(RedisLeaseAnswer, AnOwnerOfOursHasItsLeaseInFull) {
  const auto record = record_of(answer("you", "77", 12'000, 10'000, 6'000));
  EXPECT_EQ(record.owner_id, "you");
  EXPECT_EQ(record.fencing_token, 77U);
  EXPECT_EQ(record.transition_left, 12s);
  EXPECT_EQ(record.ttl_left, 6s);
  const StoreTime now{1'700'000'000'123ms};
  EXPECT_EQ(record.lease.transition_at, now + 12s);
  EXPECT_EQ(record.lease.ttl_at, now + 6s);
  EXPECT_EQ(record.lease.acquired_at, now - 4s);
  EXPECT_FALSE(record.counted_from);
}

TEST(RedisLeaseAnswer, InTheTransitionNothingIsLeftOfTheTtl) {
  const auto record = record_of(answer("you", "77", 2'000, 10'000, 6'000));
  EXPECT_EQ(record.ttl_left, 0s);
  EXPECT_EQ(record.transition_left, 2s);
}

TEST(RedisLeaseAnswer, AnOwnerOfTheJvmLibraryHasNoTokenAndIsTakenToHaveOurTransition) {
  const auto record = record_of(answer("jvm", "0", 9'000, 0, 0));
  EXPECT_EQ(record.owner_id, "jvm");
  EXPECT_EQ(record.fencing_token, 0U);
  EXPECT_EQ(record.transition_left, 9s);
  EXPECT_EQ(record.ttl_left, 3s);
}

TEST(RedisLeaseAnswer, NoMoreThanAWholeLeaseIsLeftWhateverAClockThatWasSetBackSays) {
  EXPECT_EQ(record_of(answer("you", "77", 3'612'000, 10'000, 5'000)).transition_left, 15s);
  EXPECT_EQ(record_of(answer("you", "77", 3'612'000, 10'000, 5'000)).ttl_left, 10s);
  EXPECT_EQ(record_of(answer("jvm", "0", 3'609'000, 0, 0)).transition_left, 16s);
  const auto observed = parse_lease_answer(answer("jvm", "0", 30'000, 0, 0), {.mutex = "m"});
  EXPECT_EQ(observed.record()->transition_left, 30s) << "an observer has no lease";
}

TEST(RedisLeaseAnswer, NobodyIsAnEmptyOwner) {
  const auto record = record_of(answer("", "0", 0, 0, 0));
  EXPECT_EQ(record.owner_id, "");
  EXPECT_EQ(record.transition_left, 0s);
}

TEST(RedisLeaseAnswer, AKeyThatNeverExpiresIsLookedAtAgainAfterALease) {
  EXPECT_EQ(record_of(answer("by hand", "0", -1, 0, 0)).transition_left, 16s);
}

TEST(RedisLeaseAnswer, ALeaseWithoutEndIsCutToAYear) {
  EXPECT_EQ(record_of(answer("you", "1", INT64_MAX, INT64_MAX, INT64_MAX)).transition_left,
            std::chrono::days{365});
}

TEST(RedisLeaseAnswer, NoLeaseBeginsBeforeTheEpoch) {
  auto reply = answer("you", "77", 12'000, 15'427'154'279'090'000, 6);
  reply.elements[5] = text_reply("123456");
  EXPECT_EQ(record_of(reply).lease.acquired_at, StoreTime{});
}

TEST(RedisLeaseAnswer, AnOwnerWithOurIdAndAnotherInstanceIsANamesake) {
  engine::LeaseRequest ours = request;
  ours.instance = 5;
  const auto is_namesake = [&](const std::string& owner, const std::string& instance) {
    const auto parsed = parse_lease_answer(answer(owner, "7", 1, 1, 1, instance), ours);
    return parsed.record() != nullptr && parsed.record()->namesake;
  };
  EXPECT_TRUE(is_namesake("me", "6"));
  EXPECT_FALSE(is_namesake("me", "5"));
  EXPECT_FALSE(is_namesake("me", "0")) << "one that does not tell";
  EXPECT_FALSE(is_namesake("you", "6"));
  EXPECT_FALSE(record_of(answer("me", "7", 1, 1, 1, "6")).namesake) << "we do not tell";
}

TEST(RedisLeaseAnswer, AnythingElseIsAnErrorAndNoCrash) {
  auto too_short = answer("you", "1", 1, 1, 1);
  too_short.elements.pop_back();
  auto no_text = answer("you", "1", 1, 1, 1);
  no_text.elements[0] = integer_reply(1);
  auto no_number = answer("you", "1", 1, 1, 1);
  no_number.elements[2] = text_reply("1");
  auto no_time = answer("you", "1", 1, 1, 1);
  no_time.elements[6] = text_reply("1000000");
  auto far_future = answer("you", "1", 1, 1, 1);
  far_future.elements[5] = text_reply("9223372036854775807");
  for (const Reply& reply :
       {Reply{}, status_reply("OK"), text_reply("you"), array_reply({}), too_short, no_text,
        no_number, no_time, far_future, answer("you", "-1", 1, 1, 1), answer("you", "1x", 1, 1, 1),
        answer("you", "99999999999999999999", 1, 1, 1), answer("you", "1", -2, 1, 1),
        answer("you", "1", 1, 1, 1, "-1")}) {
    const auto parsed = parse_lease_answer(reply, request);
    ASSERT_NE(parsed.error(), nullptr);
    EXPECT_EQ(parsed.error()->kind(), ErrorKind::internal);
  }
}

}  // namespace
}  // namespace simba::redis
