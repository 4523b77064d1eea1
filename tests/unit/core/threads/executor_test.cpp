#include "simba/core/executor.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace simba {
namespace {

TEST(InlineExecutor, RunsATaskAtOnceOnTheCallingThread) {
  const auto executor = make_inline_executor();
  std::thread::id ran_on;
  executor->execute([&] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(InlineExecutor, TakesEveryThreadForItsOwn) {
  EXPECT_TRUE(make_inline_executor()->running_in_this_thread());
}

}  // namespace
}  // namespace simba
