#include <chrono>

#include <gtest/gtest.h>

#include "cli/terminal/timestamps.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;

TEST(Moments, OfAStoreAreShownInUtc) {
  EXPECT_EQ(to_utc(shown(StoreTime{1'700'000'000'123ms})), "2023-11-14T22:13:20.123Z");
}

TEST(Moments, ThatMakeNoSenseAreShownAsTheNearestThatDo) {
  EXPECT_EQ(to_utc(shown(StoreTime::max())), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(to_utc(shown(StoreTime::min())), "1970-01-01T00:00:00.000Z");
}

}  // namespace
}  // namespace simba::cli
