#include "simba/core/random.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "unit/core/without_system_calls.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Always the same number.
class Constant final : public Random {
 public:
  explicit Constant(std::uint64_t value) : value_{value} {}
  std::uint64_t next() noexcept override { return value_; }

 private:
  std::uint64_t value_;
};

constexpr auto most = std::numeric_limits<std::uint64_t>::max();

TEST(SeededRandom, IsSplitMix64) {
  const auto random = make_seeded_random(1234567);
  EXPECT_EQ(random->next(), 6457827717110365317U);
  EXPECT_EQ(random->next(), 3203168211198807973U);
  EXPECT_EQ(random->next(), 9817491932198370423U);
}

TEST(SystemRandom, DiffersFromOneToTheNext) {
  EXPECT_NE(make_system_random()->next(), make_system_random()->next());
}

TEST(SystemRandom, IsRefusedWhereTheKernelHasNoneAndSaysWhatToAllow) {
  test::without_system_calls({SYS_getrandom}, ENOSYS, [] {
    try {
      make_system_random();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("getrandom"));
    }
  });
}

TEST(SystemRandom, GoesOnWhereTheKernelRefusesLater) {
  const auto random = make_system_random();
  test::without_system_calls({SYS_getrandom}, EPERM,
                             [&] { EXPECT_NE(random->next(), random->next()); });
}

TEST(Random, GivesNoNumberTwiceToThreadsThatAskAtTheSameTime) {
  const auto random = make_seeded_random(1);
  std::vector<std::vector<std::uint64_t>> drawn(4, std::vector<std::uint64_t>(5'000));
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (auto& numbers : drawn) {
      threads.emplace_back(
          [&] { std::generate(numbers.begin(), numbers.end(), [&] { return random->next(); }); });
    }
  }
  std::set<std::uint64_t> all;
  for (const auto& numbers : drawn) all.insert(numbers.begin(), numbers.end());
  EXPECT_EQ(all.size(), 20'000U);
}

TEST(RandomBetween, IsLowWhereTheRangeIsEmpty) {
  Constant random{most};
  EXPECT_EQ(random.between(5ns, 5ns), 5ns);
  EXPECT_EQ(random.between(5ns, -5ns), 5ns);
}

TEST(RandomBetween, ReachesLowAndNeverHigh) {
  EXPECT_EQ(Constant{0}.between(-200ns, 1000ns), -200ns);
  EXPECT_EQ(Constant{most}.between(-200ns, 1000ns), 999ns);
}

TEST(RandomBetween, DoesNotOverflowOverTheWholeRange) {
  EXPECT_EQ(Constant{0}.between(nanoseconds::min(), nanoseconds::max()), nanoseconds::min());
  EXPECT_EQ(Constant{most}.between(nanoseconds::min(), nanoseconds::max()),
            nanoseconds::max() - 1ns);
}

TEST(RandomBetween, IsSpreadEvenly) {
  const auto random = make_seeded_random(42);
  std::vector<int> hits(10);
  for (int i = 0; i < 100'000; ++i) {
    ++hits[static_cast<std::size_t>(random->between(0ns, 10ns).count())];
  }
  for (const int n : hits) EXPECT_NEAR(n, 10'000, 500);
}

}  // namespace
}  // namespace simba
