#include "simba/core/owner_dispatcher.hpp"

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "simba/testkit/manual_runtime.hpp"
#include "simba/testkit/recording_retriever.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

MutexOwner named_owner(const std::string& id) {
  return MutexOwner{id, {}, {}, 1, make_system_clock()};
}

class OwnerDispatcherTest : public testing::Test {
 protected:
  testkit::ManualRuntime runtime_;
  testkit::RecordingRetriever retriever_{"m"};
  std::shared_ptr<OwnerDispatcher> dispatcher_ =
      std::make_shared<OwnerDispatcher>(retriever_, nullptr, runtime_.runtime());
  std::string order_;
};

TEST_F(OwnerDispatcherTest, KnowsTheStateAtOnceAndTellsTheRetrieverOnItsExecutor) {
  dispatcher_->publish(named_owner("a"));
  dispatcher_->deliver();
  EXPECT_EQ(dispatcher_->state().after().owner_id(), "a");
  EXPECT_TRUE(retriever_.owners().empty());
  runtime_.run_ready();
  EXPECT_EQ(retriever_.owners(), std::vector<std::string>{"a"});
}

TEST_F(OwnerDispatcherTest, EachStateBeginsWhereTheOneBeforeEnded) {
  dispatcher_->publish(named_owner("a"));
  dispatcher_->publish(named_owner("b"));
  EXPECT_EQ(dispatcher_->state().before().owner_id(), "a");
  dispatcher_->refresh(named_owner("b"));
  EXPECT_FALSE(dispatcher_->state().is_changed());
  dispatcher_->reset();
  EXPECT_EQ(dispatcher_->state().after().owner_id(), "");
}

TEST_F(OwnerDispatcherTest, NotifiesOfAnUpdateOnlyIfThereIsAnotherOwner) {
  dispatcher_->update(named_owner("a"));
  dispatcher_->update(named_owner("a"));
  EXPECT_FALSE(dispatcher_->state().is_changed());
  dispatcher_->update(named_owner("b"));
  dispatcher_->deliver();
  runtime_.run_ready();
  EXPECT_EQ(retriever_.owners(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(OwnerDispatcherTest, RunsTasksInOrderAlsoThoseThatTasksAdd) {
  dispatcher_->post([&] {
    order_ += "1";
    dispatcher_->post([&] { order_ += "3"; });
    dispatcher_->deliver();
  });
  dispatcher_->post([&] { order_ += "2"; });
  dispatcher_->deliver();
  runtime_.run_ready();
  EXPECT_EQ(order_, "123");
}

TEST_F(OwnerDispatcherTest, RunsNothingWhileHeld) {
  dispatcher_->hold();
  dispatcher_->post([&] { order_ += "1"; });
  dispatcher_->deliver();
  runtime_.run_ready();
  EXPECT_EQ(order_, "");
  EXPECT_EQ(dispatcher_->backlog(), 1U);
  dispatcher_->resume();
  runtime_.run_ready();
  EXPECT_EQ(order_, "1");
}

TEST_F(OwnerDispatcherTest, RunsNothingUntilEveryHoldHasEnded) {
  dispatcher_->hold();
  dispatcher_->hold();
  dispatcher_->post([&] { order_ += "1"; });
  dispatcher_->resume();
  runtime_.run_ready();
  EXPECT_EQ(order_, "");
  dispatcher_->resume();
  runtime_.run_ready();
  EXPECT_EQ(order_, "1");
}

TEST_F(OwnerDispatcherTest, DropsWhatHasNotBegunWhenToldSo) {
  dispatcher_->post([&] { order_ += "1"; });
  dispatcher_->discard();
  dispatcher_->deliver();
  runtime_.run_ready();
  EXPECT_EQ(order_, "");
}

TEST_F(OwnerDispatcherTest, DropsWhatComesAfterThatUntilItIsOpenedAgain) {
  dispatcher_->discard();
  dispatcher_->post([&] { order_ += "1"; });
  dispatcher_->post_first([&] { order_ += "2"; });
  dispatcher_->publish(MutexOwner::none());
  EXPECT_EQ(dispatcher_->backlog(), 0U);
  dispatcher_->open();
  dispatcher_->post([&] { order_ += "3"; });
  dispatcher_->deliver();
  runtime_.run_ready();
  EXPECT_EQ(order_, "3");
}

TEST_F(OwnerDispatcherTest, QuiesceInsideATaskRunsTheRestOfTheQueueThereAndThen) {
  dispatcher_->post([&] {
    EXPECT_TRUE(dispatcher_->running_in_this_thread());
    dispatcher_->post([&] { order_ += "2"; });
    order_ += "1";
    EXPECT_TRUE(dispatcher_->quiesce(never));
    order_ += "3";
  });
  dispatcher_->deliver();
  runtime_.run_ready();
  EXPECT_EQ(order_, "123");
  EXPECT_FALSE(dispatcher_->running_in_this_thread());
}

TEST_F(OwnerDispatcherTest, QuiesceOnAThreadOfTheExecutorRunsTheQueueItself) {
  dispatcher_->post([&] { order_ += "1"; });
  EXPECT_TRUE(dispatcher_->quiesce(never));
  EXPECT_EQ(order_, "1");
}

TEST_F(OwnerDispatcherTest, WhatAnExecutorRefusesIsLoggedAndRunByTheRuntime) {
  class Refusing : public Executor {
   public:
    void execute(std::function<void()> /*task*/) override {
      if (++calls % 2 == 0) throw 42;
      throw std::runtime_error{"closed for today"};
    }
    bool running_in_this_thread() const noexcept override { return false; }
    int calls = 0;
  };
  const auto refusing = std::make_shared<Refusing>();
  const auto dispatcher =
      std::make_shared<OwnerDispatcher>(retriever_, refusing, runtime_.runtime());
  dispatcher->post([&] { order_ += "1"; });
  dispatcher->deliver();
  runtime_.run_ready();
  EXPECT_TRUE(runtime_.log().contains("closed for today"));
  EXPECT_EQ(order_, "1");
  dispatcher->post([&] { order_ += "2"; });
  dispatcher->deliver();
  runtime_.run_ready();
  EXPECT_TRUE(runtime_.log().contains("unknown exception"));
  EXPECT_EQ(order_, "12");
}

/// Takes tasks and begins none of them, as one that has been stopped.
class StoppedExecutor final : public Executor {
 public:
  void execute(std::function<void()> task) override { tasks.push_back(std::move(task)); }
  bool running_in_this_thread() const noexcept override { return false; }
  std::vector<std::function<void()>> tasks;
};

TEST_F(OwnerDispatcherTest, EntersAnExecutorOfTheUserOnlyOnTheCallbackThreads) {
  const auto given = std::make_shared<StoppedExecutor>();
  const auto dispatcher = std::make_shared<OwnerDispatcher>(retriever_, given, runtime_.runtime());
  dispatcher->post([] {});
  dispatcher->deliver();
  EXPECT_TRUE(given->tasks.empty()) << "this may be the thread of all timers";
  ASSERT_TRUE(runtime_.callbacks().run_one());
  EXPECT_EQ(given->tasks.size(), 1U);
  dispatcher->discard();
}

TEST_F(OwnerDispatcherTest, QuiesceRunsWhatAnExecutorDoesNotBeginWithinASecond) {
  const auto stopped = std::make_shared<StoppedExecutor>();
  const auto dispatcher =
      std::make_shared<OwnerDispatcher>(retriever_, stopped, runtime_.runtime());
  dispatcher->post([&] { order_ += "1"; });
  dispatcher->post([&] { order_ += "2"; });
  dispatcher->deliver();
  const LocalTime before = runtime_.now();
  EXPECT_TRUE(dispatcher->quiesce(before + 30s));
  EXPECT_EQ(order_, "12");
  EXPECT_EQ(runtime_.now(), before + 1s);
  EXPECT_TRUE(runtime_.log().contains("callbacks of mutex [m] have not started"));
  // It goes on after all: it finds nothing, and gets what comes next.
  ASSERT_EQ(stopped->tasks.size(), 1U);
  stopped->tasks.front()();
  EXPECT_EQ(order_, "12");
  dispatcher->post([&] { order_ += "3"; });
  dispatcher->deliver();
  runtime_.run_ready();
  ASSERT_EQ(stopped->tasks.size(), 2U);
  stopped->tasks.back()();
  EXPECT_EQ(order_, "123");
}

TEST_F(OwnerDispatcherTest, QuiesceRunsWhatHasNotBegunAtItsDeadlineAtTheLatest) {
  const auto dispatcher = std::make_shared<OwnerDispatcher>(
      retriever_, std::make_shared<StoppedExecutor>(), runtime_.runtime());
  dispatcher->post([&] {
    order_ += "1";
    dispatcher->post([&] { order_ += "2"; });
  });
  dispatcher->deliver();
  const LocalTime deadline = runtime_.now() + 10ms;
  EXPECT_TRUE(dispatcher->quiesce(deadline));
  EXPECT_EQ(order_, "12");
  EXPECT_EQ(runtime_.now(), deadline);
  EXPECT_TRUE(runtime_.log().contains("callbacks of mutex [m] have not started"));
}

TEST_F(OwnerDispatcherTest, QuiesceRunsNothingThatIsHeldEvenAtItsDeadline) {
  const auto dispatcher = std::make_shared<OwnerDispatcher>(
      retriever_, std::make_shared<StoppedExecutor>(), runtime_.runtime());
  dispatcher->hold();
  dispatcher->post([&] { order_ += "1"; });
  EXPECT_FALSE(dispatcher->quiesce(runtime_.now() + 10ms));
  EXPECT_EQ(order_, "");
  dispatcher->discard();
}

TEST_F(OwnerDispatcherTest, AsksAnExecutorOfTheUserWithNoLockHeld) {
  class Asking : public Executor {
   public:
    void execute(std::function<void()> /*task*/) override {}
    bool running_in_this_thread() const noexcept override {
      state = std::async(std::launch::async, [this] { static_cast<void>(asked->state()); });
      answered = state.wait_for(10s) == std::future_status::ready;
      return false;
    }
    std::shared_ptr<OwnerDispatcher> asked;
    mutable std::future<void> state;
    mutable bool answered = false;
  };
  const auto asking = std::make_shared<Asking>();
  asking->asked = std::make_shared<OwnerDispatcher>(retriever_, asking, runtime_.runtime());
  EXPECT_TRUE(asking->asked->quiesce(runtime_.now()));
  EXPECT_TRUE(asking->answered);
  asking->state.get();
  asking->asked.reset();
}

TEST_F(OwnerDispatcherTest, EntersNoExecutorOfTheUserWhenAllHasRunOrTheServiceIsGone) {
  const auto given = std::make_shared<StoppedExecutor>();
  auto gone = std::make_unique<testkit::RecordingRetriever>("m");
  auto dispatcher = std::make_shared<OwnerDispatcher>(*gone, given, runtime_.runtime());
  dispatcher->post([] {});
  dispatcher->deliver();
  dispatcher->discard();
  dispatcher.reset();
  gone.reset();
  runtime_.run_ready();
  EXPECT_TRUE(given->tasks.empty()) << "what it refers to may be gone, too";
}

/// Lets the queue be run, and its retriever end, inside the call that hands over its task.
TEST_F(OwnerDispatcherTest, TouchesNoRetrieverOnceItsQueueIsHandedOver) {
  class Overtaking : public Executor {
   public:
    void execute(std::function<void()> /*task*/) override {
      overtake();
      throw std::runtime_error{"too late"};
    }
    bool running_in_this_thread() const noexcept override { return false; }
    std::function<void()> overtake;
  };
  const auto executor = std::make_shared<Overtaking>();
  auto gone = std::make_unique<testkit::RecordingRetriever>("a mutex whose retriever is gone");
  auto dispatcher = std::make_shared<OwnerDispatcher>(*gone, executor, runtime_.runtime());
  executor->overtake = [&] {
    dispatcher->discard();
    gone.reset();
  };
  dispatcher->post([] {});
  dispatcher->deliver();
  runtime_.run_ready();
  EXPECT_TRUE(
      runtime_.log().contains("[a mutex whose retriever is gone] rejected a task: too late"));
}

TEST_F(OwnerDispatcherTest, IsServedAgainAfterAnExecutorHasForgottenATask) {
  const auto stopped = std::make_shared<StoppedExecutor>();
  const auto dispatcher =
      std::make_shared<OwnerDispatcher>(retriever_, stopped, runtime_.runtime());
  dispatcher->post([&] { order_ += "1"; });
  dispatcher->deliver();
  EXPECT_TRUE(dispatcher->quiesce(never));
  stopped->tasks.clear();
  dispatcher->post([&] { order_ += "2"; });
  dispatcher->deliver();
  runtime_.run_ready();
  ASSERT_EQ(stopped->tasks.size(), 1U) << "it is asked anew";
  stopped->tasks.front()();
  EXPECT_EQ(order_, "12");
}

TEST(OwnerDispatcherThreads, QuiesceWaitsForATaskOnAnotherThreadUntilItsDeadline) {
  RuntimeOptions options;
  options.log = make_null_logger();
  const auto runtime = make_runtime(options);
  testkit::RecordingRetriever retriever{"m"};
  const auto dispatcher = std::make_shared<OwnerDispatcher>(retriever, nullptr, runtime);
  std::promise<void> begun;
  std::promise<void> go_on;
  dispatcher->post([&] {
    begun.set_value();
    go_on.get_future().wait();
  });
  dispatcher->deliver();
  begun.get_future().wait();
  EXPECT_FALSE(dispatcher->quiesce(runtime->clock->now() + 5ms));
  go_on.set_value();
  EXPECT_TRUE(dispatcher->quiesce(never));
}

TEST(OwnerDispatcherThreads, QuiesceRunsTheQueueWhileAllThreadsAreBlocked) {
  const auto runtime =
      make_runtime({.callback_threads = 1, .log = make_null_logger(), .max_callback_threads = 1});
  std::promise<void> blocked;
  std::promise<void> go_on;
  runtime->callbacks->execute([&] {
    blocked.set_value();
    go_on.get_future().wait();
  });
  blocked.get_future().wait();
  testkit::RecordingRetriever retriever{"m"};
  const auto dispatcher = std::make_shared<OwnerDispatcher>(retriever, nullptr, runtime);
  // The second is shorter than the time that the threads are given.
  for (const std::chrono::milliseconds limit : {60'000ms, 1ms}) {
    std::thread::id ran_on;
    dispatcher->post([&] { ran_on = std::this_thread::get_id(); });
    dispatcher->deliver();
    EXPECT_TRUE(dispatcher->quiesce(runtime->clock->now() + limit));
    EXPECT_EQ(ran_on, std::this_thread::get_id());
  }
  go_on.set_value();
}

TEST(OwnerDispatcherThreads, TasksOfManyThreadsRunOneAtATime) {
  RuntimeOptions options;
  options.log = make_null_logger();
  const auto runtime = make_runtime(options);
  testkit::RecordingRetriever retriever{"m"};
  const auto dispatcher = std::make_shared<OwnerDispatcher>(retriever, nullptr, runtime);
  int unguarded = 0;  // ThreadSanitizer would see two tasks at once
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          dispatcher->post([&] { ++unguarded; });
          dispatcher->deliver();
        }
      });
    }
  }
  EXPECT_TRUE(dispatcher->quiesce(never));
  EXPECT_EQ(unguarded, 2'000);
}

}  // namespace
}  // namespace simba
