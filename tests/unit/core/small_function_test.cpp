#include "simba/core/small_function.hpp"

#include <array>
#include <functional>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

namespace simba::detail {
namespace {

using Sum = SmallFunction<int(int)>;

TEST(SmallFunction, CallsWhatItIsMadeOfEvenIfThatCannotBeCopied) {
  const Sum sum = [one = std::make_unique<int>(1)](int other) { return *one + other; };
  EXPECT_EQ(sum(2), 3);
}

TEST(SmallFunction, TakesWhatIsTooLargeToBeKeptInside) {
  std::array<int, 100> numbers{};
  numbers.back() = 1;
  Sum sum = [numbers](int other) { return numbers.back() + other; };
  const Sum moved = std::move(sum);
  EXPECT_EQ(moved(2), 3);
}

TEST(SmallFunction, LeavesNothingWhereItWasMovedFrom) {
  const auto held = std::make_shared<int>(1);
  Sum one = [held](int other) { return *held + other; };
  Sum other;
  EXPECT_FALSE(other);
  other.swap(one);
  EXPECT_TRUE(other);
  EXPECT_FALSE(one);  // NOLINT(bugprone-use-after-move): that is the point
  EXPECT_EQ(held.use_count(), 2);
  other = nullptr;
  EXPECT_EQ(held.use_count(), 1);
}

TEST(SmallFunction, IsEmptyIfMadeOfAnEmptyFunction) {
  EXPECT_FALSE(Sum{std::function<int(int)>{}});
  EXPECT_TRUE(Sum{std::function<int(int)>{[](int number) { return number; }}});
}

// Whoever answers is given up with the answer: what is held may hold the function itself.
TEST(SmallFunction, MayEndItselfByAnAssignment) {
  struct Owner {
    SmallFunction<void()> function;
  };
  auto owner = std::make_shared<Owner>();
  const std::weak_ptr<Owner> weak = owner;
  owner->function = [owner] {};
  Owner& place = *owner;
  owner.reset();
  place.function = nullptr;
  EXPECT_TRUE(weak.expired());
}

}  // namespace
}  // namespace simba::detail
