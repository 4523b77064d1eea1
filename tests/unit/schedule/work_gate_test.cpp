#include "schedule/work_gate.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "simba/core/owner_dispatcher.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "simba/testkit/recording_retriever.hpp"

namespace simba::detail {
namespace {

using ::testing::ElementsAre;

class WorkGateTest : public ::testing::Test {
 protected:
  auto note(const std::string& what) {
    return [this, what] { seen_.push_back(what); };
  }

  std::vector<std::string> seen_;
  WorkGate gate_;
};

TEST_F(WorkGateTest, ACallbackRunsAtOnceWhenNothingIsInside) {
  gate_.execute(note("callback"));
  EXPECT_THAT(seen_, ElementsAre("callback"));
}

TEST_F(WorkGateTest, CallbacksThatComeDuringTheWorkRunInOrderWhenItLeaves) {
  ASSERT_TRUE(gate_.try_enter({}));
  gate_.execute(note("first"));
  gate_.execute(note("second"));
  EXPECT_TRUE(seen_.empty());
  gate_.leave();
  EXPECT_THAT(seen_, ElementsAre("first", "second"));
}

TEST_F(WorkGateTest, ACallbackInsideACallbackRunsAfterIt) {
  gate_.execute([&] {
    gate_.execute(note("inner"));
    note("outer")();
  });
  EXPECT_THAT(seen_, ElementsAre("outer", "inner"));
}

TEST_F(WorkGateTest, WorkDoesNotComeInDuringACallbackAndHearsWhenItMay) {
  gate_.execute([&] {
    EXPECT_FALSE(gate_.try_enter(note("free")));
    gate_.execute(note("callback"));
  });
  EXPECT_THAT(seen_, ElementsAre("callback", "free"));
  EXPECT_TRUE(gate_.try_enter({}));
}

TEST_F(WorkGateTest, WorkDoesNotComeInDuringOtherWork) {
  ASSERT_TRUE(gate_.try_enter({}));
  EXPECT_FALSE(gate_.try_enter([&] { EXPECT_TRUE(gate_.try_enter({})); }));
  gate_.leave();
  EXPECT_FALSE(gate_.try_enter({})) << "the one that waited is inside";
}

TEST_F(WorkGateTest, OnlyTheThreadOfACallbackIsInsideTheExecutor) {
  EXPECT_FALSE(gate_.running_in_this_thread());
  gate_.execute([&] {
    EXPECT_TRUE(gate_.running_in_this_thread());
    std::jthread{[&] { EXPECT_FALSE(gate_.running_in_this_thread()); }}.join();
  });
  ASSERT_TRUE(gate_.try_enter({}));
  EXPECT_FALSE(gate_.running_in_this_thread()) << "who waits for callbacks there waits for itself";
}

TEST_F(WorkGateTest, NothingIsEverInsideTogether) {
  int plain = 0;  // a race here is seen by the thread sanitizer
  int entered = 0;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < 2; ++i) {
      all.emplace_back([&] {
        for (int round = 0; round < 500; ++round) gate_.execute([&] { ++plain; });
      });
    }
    all.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        if (!gate_.try_enter({})) continue;
        ++plain;
        ++entered;
        gate_.leave();
      }
    });
  }
  EXPECT_EQ(plain, 1000 + entered);
}

TEST_F(WorkGateTest, StopDoesNotRunACallbackItselfThatWaitsForTheWorkToLeave) {
  testkit::ManualRuntime world;
  testkit::RecordingRetriever retriever{"m"};
  const auto gate = std::make_shared<WorkGate>();
  const auto dispatcher = std::make_shared<OwnerDispatcher>(retriever, gate, world.runtime());
  ASSERT_TRUE(gate->try_enter({}));
  dispatcher->post(note("callback"));
  dispatcher->deliver();
  EXPECT_FALSE(dispatcher->quiesce(world.now() + std::chrono::seconds{30}));
  EXPECT_TRUE(seen_.empty());
  gate->leave();
  EXPECT_TRUE(dispatcher->quiesce(world.now()));
  EXPECT_THAT(seen_, ElementsAre("callback"));
}

}  // namespace
}  // namespace simba::detail
