#include "schedule/work_gate.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "simba/core/owner_dispatcher.hpp"
#include "simba/testkit/manual_executor.hpp"
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
  const std::shared_ptr<testkit::ManualExecutor> executor_ =
      std::make_shared<testkit::ManualExecutor>();
  const std::shared_ptr<WorkGate> gate_ = std::make_shared<WorkGate>(make_inline_executor());
  const std::shared_ptr<WorkGate> passing_on_ = std::make_shared<WorkGate>(executor_);
};

TEST_F(WorkGateTest, ACallbackRunsAtOnceWhenNothingIsInside) {
  gate_->execute(note("callback"));
  EXPECT_THAT(seen_, ElementsAre("callback"));
}

TEST_F(WorkGateTest, CallbacksThatComeDuringTheWorkRunInOrderWhenItLeaves) {
  ASSERT_TRUE(gate_->try_enter({}));
  gate_->execute(note("first"));
  gate_->execute(note("second"));
  EXPECT_TRUE(seen_.empty());
  gate_->leave();
  EXPECT_THAT(seen_, ElementsAre("first", "second"));
}

TEST_F(WorkGateTest, ACallbackInsideACallbackRunsAfterIt) {
  gate_->execute([&] {
    gate_->execute(note("inner"));
    note("outer")();
  });
  EXPECT_THAT(seen_, ElementsAre("outer", "inner"));
}

TEST_F(WorkGateTest, WorkDoesNotComeInDuringACallbackAndHearsWhenItMay) {
  gate_->execute([&] {
    EXPECT_FALSE(gate_->try_enter(note("free")));
    gate_->execute(note("callback"));
  });
  EXPECT_THAT(seen_, ElementsAre("callback", "free"));
  EXPECT_TRUE(gate_->try_enter({}));
}

TEST_F(WorkGateTest, WorkDoesNotComeInDuringOtherWork) {
  ASSERT_TRUE(gate_->try_enter({}));
  EXPECT_FALSE(gate_->try_enter([&] { EXPECT_TRUE(gate_->try_enter({})); }));
  gate_->leave();
  EXPECT_FALSE(gate_->try_enter({})) << "the one that waited is inside";
}

TEST_F(WorkGateTest, OnlyTheThreadOfACallbackIsInsideTheExecutor) {
  EXPECT_FALSE(gate_->running_in_this_thread());
  gate_->execute([&] {
    EXPECT_TRUE(gate_->running_in_this_thread());
    std::jthread{[&] { EXPECT_FALSE(gate_->running_in_this_thread()); }}.join();
  });
  ASSERT_TRUE(gate_->try_enter({}));
  EXPECT_FALSE(gate_->running_in_this_thread()) << "who waits for callbacks there waits for itself";
}

TEST_F(WorkGateTest, CallbacksWaitForTheExecutorAndWorkForThem) {
  passing_on_->execute(note("first"));
  EXPECT_FALSE(passing_on_->try_enter(note("free")));
  EXPECT_TRUE(seen_.empty());
  executor_->run_all();
  EXPECT_THAT(seen_, ElementsAre("first", "free"));

  ASSERT_TRUE(passing_on_->try_enter({}));
  passing_on_->execute(note("second"));
  EXPECT_EQ(executor_->run_all(), 0U);
  passing_on_->leave();
  EXPECT_THAT(seen_, ElementsAre("first", "free"));
  executor_->run_all();
  EXPECT_THAT(seen_, ElementsAre("first", "free", "second"));
}

TEST_F(WorkGateTest, AnotherThreadMayCallWhatTheExecutorHasNotBegunButNotWhileTheWorkRuns) {
  ASSERT_TRUE(passing_on_->try_enter({}));
  passing_on_->execute(note("callback"));
  passing_on_->run_kept();
  EXPECT_TRUE(seen_.empty());
  passing_on_->leave();
  passing_on_->run_kept();
  EXPECT_THAT(seen_, ElementsAre("callback"));
  executor_->run_all();
  EXPECT_THAT(seen_, ElementsAre("callback"));
}

TEST_F(WorkGateTest, CallsWhatTheExecutorRefuses) {
  struct Refusing final : Executor {
    void execute(std::function<void()> /*task*/) override { throw std::bad_alloc{}; }
    bool running_in_this_thread() const noexcept override { return false; }
  };
  std::make_shared<WorkGate>(std::make_shared<Refusing>())->execute(note("callback"));
  EXPECT_THAT(seen_, ElementsAre("callback"));
}

TEST_F(WorkGateTest, NothingIsEverInsideTogether) {
  int plain = 0;  // a race here is seen by the thread sanitizer
  int entered = 0;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < 2; ++i) {
      all.emplace_back([&] {
        for (int round = 0; round < 500; ++round) gate_->execute([&] { ++plain; });
      });
    }
    all.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        if (!gate_->try_enter({})) continue;
        ++plain;
        ++entered;
        gate_->leave();
      }
    });
  }
  EXPECT_EQ(plain, 1000 + entered);
}

TEST_F(WorkGateTest, StopDoesNotRunACallbackItselfThatWaitsForTheWorkToLeave) {
  testkit::ManualRuntime world;
  testkit::RecordingRetriever retriever{"m"};
  const auto dispatcher = std::make_shared<OwnerDispatcher>(retriever, gate_, world.runtime());
  ASSERT_TRUE(gate_->try_enter({}));
  dispatcher->post(note("callback"));
  dispatcher->deliver();
  EXPECT_FALSE(dispatcher->quiesce(world.now() + std::chrono::seconds{30}));
  EXPECT_TRUE(seen_.empty());
  gate_->leave();
  EXPECT_TRUE(dispatcher->quiesce(world.now()));
  EXPECT_THAT(seen_, ElementsAre("callback"));
}

}  // namespace
}  // namespace simba::detail
