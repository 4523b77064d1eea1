#include "simba/core/short_queue.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::detail {
namespace {

using ::testing::ElementsAre;

std::vector<int> emptied(ShortQueue<int>& queue) {
  std::vector<int> values;
  while (!queue.empty()) values.push_back(queue.pop_front());
  return values;
}

TEST(ShortQueue, KeepsTheOrderHoweverLongItGets) {
  ShortQueue<int> queue;
  for (const int value : {1, 2, 3, 4}) queue.push_back(value);
  EXPECT_EQ(queue.size(), 4U);
  EXPECT_EQ(queue.pop_front(), 1);
  queue.push_back(5);
  EXPECT_THAT(emptied(queue), ElementsAre(2, 3, 4, 5));
}

TEST(ShortQueue, LetsInAtTheFront) {
  ShortQueue<int> queue;
  for (const int value : {4, 3, 2, 1}) queue.push_front(value);
  queue.push_back(5);
  EXPECT_EQ(queue.size(), 5U);
  EXPECT_THAT(emptied(queue), ElementsAre(1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace simba::detail
