#include "simba/core/runtime.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "unit/core/doubles.hpp"
#include "unit/core/gate.hpp"
#include "unit/core/own_threads.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using test::Gate;
using testing::AllOf;
using testing::HasSubstr;

std::shared_ptr<const Runtime> quiet_runtime() { return make_runtime({.log = make_null_logger()}); }

std::vector<std::shared_ptr<Executor>> executors_of(const Runtime& runtime) {
  return {runtime.callbacks, runtime.workers, runtime.signals};
}

std::set<int> open_descriptors() {
  std::set<int> open;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    const int descriptor = std::stoi(entry.path().filename());
    if (::fcntl(descriptor, F_GETFD) != -1) open.insert(descriptor);
  }
  return open;
}

TEST(Runtime, HasEveryPart) {
  const auto runtime = make_runtime();
  EXPECT_NE(runtime->clock, nullptr);
  EXPECT_NE(runtime->timers, nullptr);
  EXPECT_NE(runtime->callbacks, nullptr);
  EXPECT_NE(runtime->workers, nullptr);
  EXPECT_NE(runtime->signals, nullptr);
  EXPECT_NE(runtime->waiter, nullptr);
  EXPECT_NE(runtime->random, nullptr);
  EXPECT_NE(runtime->log, nullptr);
  EXPECT_NE(runtime->delays, nullptr);
}

TEST(Runtime, UsesTheLoggerItWasGivenAndHasWrittenEveryLineWhenItEnds) {
  const auto log = std::make_shared<test::LineLog>();
  make_runtime({.log = log})->log->log(LogLevel::warn, "a line");
  EXPECT_TRUE(log->has("a line"));
}

TEST(Runtime, RefusesNumbersOfThreadsThatMakeNoSense) {
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{257}}) {
    try {
      make_runtime({.callback_threads = wrong});
      FAIL() << "accepted " << wrong;
    } catch (const InvalidArgumentError& error) {
      EXPECT_THAT(error.what(), HasSubstr("callback_threads must be between 1 and 256 (got " +
                                          std::to_string(wrong) + ")"));
    }
    EXPECT_THROW(make_runtime({.worker_threads = wrong}), InvalidArgumentError);
  }
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{4'097}}) {
    EXPECT_THROW(make_runtime({.max_callback_threads = wrong}), InvalidArgumentError);
    EXPECT_THROW(make_runtime({.max_worker_threads = wrong}), InvalidArgumentError);
  }
}

TEST(Runtime, HasItsThreadForLossSignalsBeforeTheFirstLoss) {
  const auto before = test::threads_named("simba-signal-");
  const auto runtime = quiet_runtime();
  EXPECT_TRUE(test::eventually([&] { return test::threads_named("simba-signal-") == before + 1; }));
}

TEST(Runtime, StartsTheThreadsForWorkOnlyWhenThereIsWork) {
  const auto runtime =
      make_runtime({.callback_threads = 2, .worker_threads = 3, .log = make_null_logger()});
  Gate ran;
  runtime->callbacks->execute([&] { ran.open(); });
  ASSERT_TRUE(ran.opens());
  EXPECT_EQ(test::threads_named("simba-work-2"), 0);
  Gate worked;
  runtime->workers->execute([&] { worked.open(); });
  ASSERT_TRUE(worked.opens());
  EXPECT_TRUE(test::eventually([] { return test::threads_named("simba-work-2") == 1; }));
}

TEST(Runtime, NamesItsThreads) {
  const auto runtime = quiet_runtime();
  for (const auto& [executor, prefix] :
       {std::pair{runtime->callbacks, "simba-call-"}, std::pair{runtime->workers, "simba-work-"},
        std::pair{runtime->signals, "simba-signal-"}}) {
    Gate ran;
    std::string name(16, '\0');
    executor->execute([&] {
      ::pthread_getname_np(::pthread_self(), name.data(), name.size());
      ran.open();
    });
    ASSERT_TRUE(ran.opens());
    EXPECT_THAT(name, testing::StartsWith(prefix));
  }
}

TEST(Runtime, LeavesSignalsToTheThreadsOfTheUser) {
  const auto runtime = quiet_runtime();
  sigset_t mine;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(::sigismember(&mine, SIGTERM), 0)
      << "the thread that makes a runtime keeps its own mask";
  for (const auto& executor : executors_of(*runtime)) {
    Gate ran;
    sigset_t blocked;
    executor->execute([&] {
      ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      ran.open();
    });
    ASSERT_TRUE(ran.opens());
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGPIPE}) {
      EXPECT_EQ(::sigismember(&blocked, signal), 1) << signal;
    }
    EXPECT_EQ(::sigismember(&blocked, SIGSEGV), 0) << "crash handlers still work";
  }
}

TEST(Runtime, OpensDescriptorsThatCloseOnExecAndClosesThemAtItsEnd) {
  const auto before = open_descriptors();
  auto runtime = quiet_runtime();
  auto alarm = runtime->timers->create([] {});
  alarm->arm(runtime->clock->now() + 1h);
  std::set<int> opened;
  for (const int descriptor : open_descriptors()) {
    if (!before.contains(descriptor)) opened.insert(descriptor);
  }
  EXPECT_FALSE(opened.empty());
  for (const int descriptor : opened) {
    EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << descriptor;
  }
  alarm.reset();
  runtime.reset();
  for (const int descriptor : open_descriptors()) EXPECT_FALSE(opened.contains(descriptor));
}

TEST(RuntimeExecutor, KnowsItsOwnThreads) {
  const auto runtime = quiet_runtime();
  for (const auto& executor : executors_of(*runtime)) {
    EXPECT_FALSE(executor->running_in_this_thread());
    Gate ran;
    int own = 0;
    int all = 0;
    executor->execute([&] {
      own = executor->running_in_this_thread() ? 1 : 0;
      for (const auto& any : executors_of(*runtime)) all += any->running_in_this_thread() ? 1 : 0;
      ran.open();
    });
    ASSERT_TRUE(ran.opens());
    EXPECT_EQ(own, 1);
    EXPECT_EQ(all, 1);
  }
}

TEST(RuntimeExecutor, RunsAsManyTasksAtTheSameTimeAsItHasThreads) {
  std::array<Gate, 2> running;
  std::atomic<int> met{0};
  {
    const auto runtime = make_runtime({.callback_threads = 2, .log = make_null_logger()});
    for (const std::size_t own : {0U, 1U}) {
      runtime->callbacks->execute([&, own] {
        running.at(own).open();
        met += running.at(1 - own).opens() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(met, 2);
}

TEST(RuntimeExecutor, LogsWhatATaskThrowsAndGoesOn) {
  const auto log = std::make_shared<test::LineLog>();
  {
    const auto runtime = make_runtime({.callback_threads = 1, .log = log});
    runtime->callbacks->execute([] { throw std::runtime_error{"no luck"}; });
    runtime->callbacks->execute([] { throw 42; });
    Gate ran;
    runtime->callbacks->execute([&] { ran.open(); });
    ASSERT_TRUE(ran.opens());
  }
  EXPECT_TRUE(log->has("a task of simba-call threw: no luck"));
  EXPECT_EQ(log->lines().size(), 2U);
}

TEST(RuntimeExecutor, RunsEverythingThatIsQueuedBeforeItEnds) {
  std::atomic<int> ran{0};
  {
    const auto runtime = quiet_runtime();
    for (const auto& executor : executors_of(*runtime)) {
      for (int i = 0; i < 1'000; ++i) executor->execute([&] { ++ran; });
    }
  }
  EXPECT_EQ(ran, 3'000);
}

TEST(RuntimeExecutor, RunsAlsoWhatTasksQueueWhileItEnds) {
  std::atomic<int> ran{0};
  {
    const auto runtime = quiet_runtime();
    Executor* executor = runtime->callbacks.get();
    executor->execute([&ran, executor] {
      for (int i = 0; i < 100; ++i) executor->execute([&ran] { ++ran; });
    });
  }
  EXPECT_EQ(ran, 100);
}

TEST(RuntimeEnd, DoesNotWaitForTimersThatAreArmed) {
  std::vector<std::unique_ptr<Timer>> timers;
  timers.reserve(1'000);
  std::atomic<int> fired{0};
  {
    const auto runtime = quiet_runtime();
    for (int i = 0; i < 1'000; ++i) {
      timers.push_back(runtime->timers->create([&] { ++fired; }));
      timers.back()->arm(runtime->clock->now() + 1h);
    }
  }
  timers.clear();
  EXPECT_EQ(fired, 0);
}

TEST(RuntimeEnd, MayComeOnEachOfItsOwnThreadsAndStillRunsWhatIsQueued) {
  for (const std::size_t which : {0U, 1U, 2U}) {
    auto runtime =
        make_runtime({.callback_threads = 1, .worker_threads = 1, .log = make_null_logger()});
    const auto holder = std::make_shared<std::shared_ptr<const Runtime>>(runtime);
    Gate others_let_go;
    const auto after = std::make_shared<Gate>();
    executors_of(*runtime)[which]->execute([&others_let_go, holder, after, which] {
      others_let_go.opens();
      for (const auto& executor : executors_of(**holder)) executor->execute([] {});
      executors_of(**holder)[which]->execute([after] { after->open(); });
      holder->reset();
    });
    runtime.reset();
    others_let_go.open();
    EXPECT_TRUE(after->opens()) << which;
  }
}

TEST(RuntimeEnd, MayComeOnTheTimerThread) {
  auto runtime = quiet_runtime();
  const auto holder = std::make_shared<std::shared_ptr<const Runtime>>();
  const auto timer = std::make_shared<std::unique_ptr<Timer>>();
  Gate others_let_go;
  const auto ended = std::make_shared<Gate>();
  *timer = runtime->timers->create([&others_let_go, holder, ended, weak = std::weak_ptr{timer}] {
    others_let_go.opens();
    const auto own = weak.lock();
    holder->reset();
    own->reset();
    ended->open();
  });
  *holder = runtime;
  (*timer)->arm(runtime->clock->now());
  runtime.reset();
  others_let_go.open();
  EXPECT_TRUE(ended->opens());
}

TEST(RuntimeEnd, MayComeOnTwoOfItsThreadsAtTheSameTime) {
  for (int round = 0; round < 50; ++round) {
    auto runtime = quiet_runtime();
    auto callbacks = runtime->callbacks;
    auto signals = runtime->signals;
    const auto ended = std::make_shared<std::array<Gate, 2>>();
    const auto ready = std::make_shared<std::array<Gate, 2>>();
    // Each of the two threads is the last to hold the executor of the other.
    Executor& first = *callbacks;
    Executor& second = *signals;
    const auto let_go_of = [&](std::shared_ptr<Executor>& executor, std::size_t own) {
      return [held = std::make_shared<std::shared_ptr<Executor>>(std::move(executor)), ready, ended,
              own] {
        (*ready)[own].open();
        (*ready)[1 - own].opens();
        held->reset();
        (*ended)[own].open();
      };
    };
    first.execute(let_go_of(signals, 0));
    second.execute(let_go_of(callbacks, 1));
    runtime.reset();
    ASSERT_TRUE((*ended)[0].opens());
    ASSERT_TRUE((*ended)[1].opens());
  }
}

TEST(RuntimeEnd, LeavesNoThreadBehind) {
  quiet_runtime();  // ThreadSanitizer starts a thread of its own along with the first one
  const auto before = test::threads_named("");
  for (int i = 0; i < 5; ++i) {
    const auto runtime = quiet_runtime();
    runtime->workers->execute([] {});
    runtime->timers->create([] {})->arm(runtime->clock->now());
  }
  EXPECT_TRUE(test::eventually([&] { return test::threads_named("") <= before; }));
}

TEST(RuntimeEnd, OfManyRuntimesDoesNotDisturbTheOthers) {
  const auto one = quiet_runtime();
  Gate ran;
  one->callbacks->execute([&] {
    const auto inner = quiet_runtime();
    std::atomic<int> count{0};
    for (const auto& executor : executors_of(*inner)) executor->execute([&] { ++count; });
    while (count < 3) std::this_thread::yield();
    ran.open();
  });
  EXPECT_TRUE(ran.opens());
}

}  // namespace
}  // namespace simba
