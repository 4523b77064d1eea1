#include "chaos/checking/sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace simba::chaos {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

struct ChaosSightings : testing::Test {
  std::vector<Ownership> recorded() const { return read_record(file, "a", 0).ownerships; }

  const support::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "record";
  RecordWriter record{file};
  Sightings sightings{record};
};

TEST_F(ChaosSightings, AreCertainFromTheEndOfTheFirstToTheBeginOfTheLast) {
  sightings.owned(7, 10, 12);
  sightings.owned(7, 20, 22);
  sightings.owned(7, 30, 32);
  sightings.over();
  ASSERT_THAT(recorded(), SizeIs(1));
  EXPECT_EQ(recorded()[0].token, 7U);
  EXPECT_EQ(recorded()[0].begin, 12);
  EXPECT_EQ(recorded()[0].end, 30);
}

// The process can have been stopped between the answer and the look at the clock: at that moment
// somebody else may own.
TEST_F(ChaosSightings, SayNothingOfAnOwnershipThatWasSeenOnce) {
  sightings.owned(7, 10, 5'000'000'000);
  sightings.over();
  sightings.owned(9, 6'000'000'000, 6'000'000'001);
  sightings.owned(10, 6'000'000'002, 6'000'000'003);
  sightings.over();
  EXPECT_THAT(recorded(), IsEmpty());
}

TEST_F(ChaosSightings, OfAnotherTokenAreAnotherOwnership) {
  sightings.owned(7, 10, 12);
  sightings.owned(7, 20, 22);
  sightings.owned(8, 30, 32);
  sightings.owned(8, 40, 42);
  sightings.over();
  ASSERT_THAT(recorded(), SizeIs(2));
  EXPECT_EQ(recorded()[0].end, 20);
  EXPECT_EQ(recorded()[1].begin, 32);
}

TEST_F(ChaosSightings, AreWrittenDownOnTheWayForThoseThatAreKilled) {
  sightings.owned(7, 0, 1);
  sightings.owned(7, 10'000'000, 10'000'001);
  ASSERT_THAT(recorded(), SizeIs(1));
  EXPECT_EQ(recorded()[0].end, 10'000'000);
}

}  // namespace
}  // namespace simba::chaos
