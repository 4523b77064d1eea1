#include "sql/rows.hpp"

#include <chrono>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace simba::sql {
namespace {

using namespace std::chrono_literals;

Row row() {
  return {.mutex = "m",
          .owner_id = "me",
          .acquired_at = 1'000,
          .ttl_at = 11'000,
          .transition_at = 17'000,
          .version = 7,
          .now = 2'000};
}

TEST(RecordOf, ARowInItsLeaseHasAnOwnerAndWhatIsLeft) {
  const auto record = record_of(row());
  EXPECT_EQ(record.owner_id, "me");
  EXPECT_EQ(record.ttl_left, 9s);
  EXPECT_EQ(record.transition_left, 15s);
  EXPECT_EQ(record.fencing_token, 7U);
  EXPECT_EQ(record.lease.transition_at, StoreTime{17s});
}

TEST(RecordOf, PastTheTtlTheOwnerStillHasTheTransition) {
  Row late = row();
  late.now = 12'000;
  const auto record = record_of(late);
  EXPECT_EQ(record.owner_id, "me");
  EXPECT_EQ(record.ttl_left, 0ms);
  EXPECT_EQ(record.transition_left, 5s);
}

TEST(RecordOf, TheLastMomentOfTheTransitionStillBelongsToTheOwner) {
  Row last = row();
  last.now = last.transition_at;
  EXPECT_EQ(record_of(last).owner_id, "me");
  ++last.now;
  EXPECT_EQ(record_of(last).owner_id, "");
}

TEST(RecordOf, AnOwnerWhoseLeaseIsOverIsNoneButItsTokenStays) {
  Row over = row();
  over.now = 20'000;
  const auto record = record_of(over);
  EXPECT_EQ(record.owner_id, "");
  EXPECT_EQ(record.transition_left, 0ms);
  EXPECT_EQ(record.fencing_token, 7U);
}

TEST(RecordOf, ValuesThatMakeNoSenseDoNotOverflow) {
  Row strange = row();
  strange.ttl_at = std::numeric_limits<std::int64_t>::max();
  strange.transition_at = std::numeric_limits<std::int64_t>::max();
  strange.acquired_at = std::numeric_limits<std::int64_t>::min();
  strange.now = std::numeric_limits<std::int64_t>::min();
  const auto record = record_of(strange);
  EXPECT_EQ(record.transition_left, std::chrono::hours{24 * 365});
  EXPECT_EQ(record.lease.acquired_at, StoreTime{});
}

TEST(RecordOf, TheTtlNeverOutlastsTheTransition) {
  Row strange = row();
  strange.ttl_at = 18'000;
  const auto record = record_of(strange);
  EXPECT_EQ(record.transition_left, 15s);
  EXPECT_EQ(record.ttl_left, 15s);
}

}  // namespace
}  // namespace simba::sql
