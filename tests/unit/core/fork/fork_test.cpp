#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/core/runtime.hpp"
#include "unit/core/forked.hpp"
#include "unit/core/gate.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using test::Gate;

struct Held {
  std::shared_ptr<const Runtime> runtime =
      make_runtime({.callback_threads = 1, .log = make_null_logger()});
  std::vector<std::unique_ptr<Timer>> timers;

  Held() {
    runtime->workers->execute([] {});
    timers.reserve(100);
    for (int i = 0; i < 100; ++i) {
      timers.push_back(runtime->timers->create([] {}));
      timers.back()->arm(runtime->clock->now() + 1h);
    }
  }
};

/// Ends a child well when the thread that runs it ends.
struct EndOfThread {
  bool in_child = false;
  ~EndOfThread() {
    if (in_child) test::end_child(true);
  }
};
thread_local EndOfThread end_of_thread;

bool refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const IllegalStateError&) {
    return true;
  }
  return false;
}

TEST(ForkedChild, MayDestroyTheRuntimeOfItsParentWhichGoesOn) {
  auto held = std::make_unique<Held>();
  EXPECT_TRUE(test::in_forked_child([&] {
    held.reset();
    return true;
  }));
  Gate fired;
  held->timers[0] = held->runtime->timers->create([&] { fired.open(); });
  held->timers[0]->arm(held->runtime->clock->now());
  EXPECT_TRUE(fired.opens());
}

TEST(ForkedChild, MayDestroyItInAnyOrder) {
  auto held = std::make_unique<Held>();
  EXPECT_TRUE(test::in_forked_child([&] {
    held->runtime.reset();
    held->timers.clear();
    return true;
  }));
}

TEST(ForkedChild, IsToldThatThreadsAndTimersAreInTheParent) {
  const Held held;
  EXPECT_TRUE(test::in_forked_child([&] {
    held.timers[0]->arm(LocalTime{});
    held.timers[0]->cancel();
    return refused([&] { held.runtime->callbacks->execute([] {}); }) &&
           refused([&] { held.runtime->timers->create([] {}); }) &&
           !held.runtime->callbacks->running_in_this_thread();
  }));
}

TEST(ForkedChild, OfATaskThatComesBackDoesNotRunTheTasksOfItsParent) {
  std::optional<Held> held{std::in_place};
  Gate queued;
  Gate forked;
  Gate second_ran;
  std::atomic<pid_t> child{-1};
  const pid_t parent = ::getpid();
  Executor& executor = *held->runtime->callbacks;
  executor.execute([&] {
    queued.opens();
    const pid_t pid = ::fork();
    if (pid == 0) {
      test::begin_child();
      end_of_thread.in_child = true;
    } else {
      child = pid;
      forked.open();
    }
  });
  executor.execute([&] {
    if (::getpid() != parent) test::end_child(false);
    second_ran.open();
  });
  queued.open();
  ASSERT_TRUE(forked.opens());
  EXPECT_TRUE(second_ran.opens());
  EXPECT_TRUE(test::child_was_good(child));
}

}  // namespace
}  // namespace simba
