#include "chaos/contenders/crew.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/patience.hpp"

namespace simba::chaos {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ChaosCrew, KillsWhatRuns) {
  support::ChildProcess process{{"/bin/sleep", "600"}, {}};
  EXPECT_THAT(kill_running(process, "c0.0"), IsEmpty());
  EXPECT_FALSE(process.running());
}

TEST(ChaosCrew, AKillDoesNotCoverUpThatAProcessHadEndedByItself) {
  support::ChildProcess process{{"/bin/false"}, {}};
  ASSERT_TRUE(support::eventually([&] { return !process.running(); }));
  EXPECT_THAT(kill_running(process, "c0.0"), HasSubstr("c0.0 has ended by itself, with 1"));

  support::ChildProcess crashed{{"/bin/sleep", "600"}, {}};
  crashed.signal(SIGSEGV);
  ASSERT_TRUE(support::eventually([&] { return !crashed.running(); }));
  EXPECT_THAT(kill_running(crashed, "c1.0"), HasSubstr("c1.0 has ended by itself, with 139"));
}

}  // namespace
}  // namespace simba::chaos
