// Locks in coroutines, in virtual time and with real threads.
#include <chrono>
#include <coroutine>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "simba/core/runtime.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/simba.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_executor.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using testkit::Fault;
using testkit::Operation;

/// A coroutine that begins at once; its frame belongs to this object.
class Task {
 public:
  struct promise_type {
    Task get_return_object() {
      return Task{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }
    std::exception_ptr failure;
  };

  Task(Task&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() { destroy(); }

  bool done() const { return frame_.done(); }
  void rethrow() const {
    if (frame_.promise().failure) std::rethrow_exception(frame_.promise().failure);
  }
  void destroy() {
    if (frame_) std::exchange(frame_, {}).destroy();
  }

 private:
  explicit Task(std::coroutine_handle<promise_type> frame) : frame_{frame} {}
  std::coroutine_handle<promise_type> frame_;
};

/// A coroutine that begins at once and frees itself, on whatever thread it ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { std::terminate(); }
  };
};

class ClientCoroutine : public ::testing::Test {
 protected:
  ~ClientCoroutine() override {
    store_->mend();
    world_.advance(2min);
  }

  std::shared_ptr<engine::LeaseServiceFactory> make_factory() {
    return std::make_shared<engine::LeaseServiceFactory>(store_, world_.runtime());
  }

  /// A runtime that notices delays, in the same virtual time.
  std::shared_ptr<Runtime> watched_runtime() {
    auto runtime = std::make_shared<Runtime>(*world_.runtime());
    runtime->delays = DelayMonitor::make(runtime->clock, *runtime->timers, runtime->log);
    return runtime;
  }

  static Task take(Client client, Lock& into, LockOptions options = {}, std::stop_token stop = {}) {
    into = co_await lock_async(client, "order", std::move(options), std::move(stop));
  }

  testkit::ManualRuntime world_;
  const std::shared_ptr<testkit::FaultStore> store_ = std::make_shared<testkit::FaultStore>(
      std::make_shared<memory::MemoryStore>(world_.runtime()->clock));
  std::optional<Client> client_{make_factory()};
  const Client other_{make_factory()};
};

TEST_F(ClientCoroutine, LocksAndUnlocksOnTheExecutorOfTheClient) {
  std::vector<std::string> story;
  const auto coroutine = [&]() -> Task {
    Lock lock = co_await lock_async(*client_, "order", {.wait = 10s, .id = "me"});
    story.emplace_back("held");
    EXPECT_TRUE(lock.held());
    const MutexOwner owner = co_await owner_async(*client_, "order");
    EXPECT_EQ(owner.owner_id(), "me");
    LockResult refused = co_await try_lock_async(*client_, "order");
    EXPECT_EQ(refused.outcome(), LockOutcome::busy);
    const bool confirmed = co_await unlock_async(std::move(lock));
    EXPECT_TRUE(confirmed);
    story.emplace_back("given back");
  };
  const Task task = coroutine();
  EXPECT_TRUE(story.empty()) << "it was granted inside the call, but is resumed by the executor";
  world_.run_ready();
  ASSERT_TRUE(task.done());
  task.rethrow();
  EXPECT_EQ(story.size(), 2U);
}

TEST_F(ClientCoroutine, ThereIsNothingToWaitForWithoutALock) {
  int times = 0;
  const auto coroutine = [&]() -> Task {
    for (; times < 100'000; ++times) co_await unlock_async(Lock{});
  };
  const Task task = coroutine();
  EXPECT_TRUE(task.done());
  EXPECT_EQ(times, 100'000);
}

TEST_F(ClientCoroutine, ResumesWhenTheLockBecomesFree) {
  Lock first = other_.lock("order");
  Lock second;
  const Task task = take(*client_, second);
  world_.advance(3s);
  EXPECT_FALSE(task.done());
  first.unlock();
  world_.run_ready();
  ASSERT_TRUE(task.done());
  EXPECT_TRUE(second.held());
}

TEST_F(ClientCoroutine, ThrowsWhatTheBlockingFormThrows) {
  const Lock held = other_.lock("order");
  Lock lock;
  const Task late = take(*client_, lock, {.wait = 2s});
  world_.advance(1999ms);
  EXPECT_FALSE(late.done());
  world_.advance(1ms);
  ASSERT_TRUE(late.done());
  EXPECT_THROW(late.rethrow(), TimeoutError);

  const Task wrong = take(*client_, lock, {.wait = -1s});
  ASSERT_TRUE(wrong.done()) << "what is wrong from the beginning needs no executor";
  EXPECT_THROW(wrong.rethrow(), InvalidArgumentError);

  std::stop_source stop;
  const Task stopped = take(*client_, lock, {}, stop.get_token());
  stop.request_stop();
  world_.run_ready();
  ASSERT_TRUE(stopped.done());
  EXPECT_THROW(stopped.rethrow(), CancelledError);
  const Task never_begun = take(*client_, lock, {}, stop.get_token());
  world_.run_ready();
  ASSERT_TRUE(never_begun.done());
  EXPECT_THROW(never_begun.rethrow(), CancelledError);
}

TEST_F(ClientCoroutine, OneThatIsCancelledBeforeItBeginsGetsNotEvenAFreeLock) {
  std::stop_source stop;
  stop.request_stop();
  Lock lock;
  const Task never_begun = take(*client_, lock, {}, stop.get_token());
  world_.run_ready();
  ASSERT_TRUE(never_begun.done());
  EXPECT_THROW(never_begun.rethrow(), CancelledError);
  EXPECT_FALSE(lock);
  EXPECT_TRUE(other_.try_lock("order"));
}

TEST_F(ClientCoroutine, DestroyingTheSuspendedFrameCancels) {
  Lock held = other_.lock("order");
  Lock lock;
  Task waiting = take(*client_, lock);
  world_.advance(1s);
  waiting.destroy();
  held.unlock();
  world_.run_ready();
  EXPECT_TRUE(other_.try_lock("order"));
}

TEST_F(ClientCoroutine, AGrantThatComesForADestroyedFrameIsGivenBack) {
  // Granted, but not resumed yet.
  Lock lock;
  Task granted = take(*client_, lock);
  EXPECT_FALSE(other_.try_lock("order"));
  granted.destroy();
  world_.run_ready();
  EXPECT_TRUE(other_.try_lock("order"));
  // Granted by the store, whose answer is under way.
  store_->next(Operation::acquire, Fault::hold_answer());
  Task asking = take(*client_, lock);
  asking.destroy();
  store_->release_answers();
  world_.run_ready();
  EXPECT_TRUE(other_.try_lock("order"));
  EXPECT_FALSE(lock);
}

TEST_F(ClientCoroutine, TheClientsEndResumesEveryWaitWithAnError) {
  const Lock held = other_.lock("order");
  std::vector<Lock> locks(3);
  std::vector<Task> tasks;
  for (Lock& lock : locks) {
    tasks.push_back([](Client& client, Lock& into) -> Task {
      into = co_await lock_async(client, "order");
    }(*client_, lock));
  }
  world_.advance(1s);
  client_.reset();
  world_.run_ready();
  for (const Task& task : tasks) {
    ASSERT_TRUE(task.done());
    EXPECT_THROW(task.rethrow(), IllegalStateError);
  }
}

TEST_F(ClientCoroutine, OneThatTheExecutorDoesNotResumeIsNoticed) {
  const auto runtime = watched_runtime();
  const auto idle = std::make_shared<testkit::ManualExecutor>();
  const Client client{std::make_shared<engine::LeaseServiceFactory>(store_, runtime),
                      {.executor = idle}};
  Lock lock;
  const Task granted = take(client, lock, {.id = "me"});
  const auto look = [&]() -> Task { co_await owner_async(client, "order"); };
  const Task looks = look();
  world_.advance(1s);
  EXPECT_EQ(runtime->delays->delayed(), 2U);
  EXPECT_TRUE(world_.log().contains("a coroutine that awaits mutex [order], contender [me]"));
  EXPECT_TRUE(world_.log().contains("a coroutine that awaits the owner of mutex [order]"));
  EXPECT_TRUE(world_.log().contains("its executor is busy or has stopped"));
  idle->run_all();
  EXPECT_TRUE(granted.done());
  EXPECT_TRUE(looks.done());
  EXPECT_TRUE(lock.held());
}

TEST_F(ClientCoroutine, AnExecutorThatHasStoppedKeepsNeitherTheRuntimeNorItself) {
  std::weak_ptr<const Runtime> runtime;
  std::shared_ptr<testkit::ManualExecutor> kept;
  {
    const auto made = watched_runtime();
    runtime = made;
    const auto holding = std::make_shared<testkit::ManualExecutor>();
    Lock lock;
    Task task = take(
        Client{std::make_shared<engine::LeaseServiceFactory>(store_, made), {.executor = holding}},
        lock);
    world_.run_ready();
    EXPECT_EQ(holding->size(), 1U);
    task.destroy();
    kept = holding;
  }
  EXPECT_TRUE(runtime.expired()) << "kept by a task that is never run";
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_EQ(kept->run_all(), 1U);
}

TEST(ClientCoroutineThreads, ResumesOnACallbackThread) {
  const Client client{std::make_shared<engine::LeaseServiceFactory>(
      std::make_shared<memory::MemoryStore>(make_system_clock()), make_runtime())};
  std::promise<std::thread::id> resumed_on;
  const auto coroutine = [&]() -> Detached {
    const Lock lock = co_await lock_async(client, "order");
    resumed_on.set_value(std::this_thread::get_id());
  };
  coroutine();
  EXPECT_NE(resumed_on.get_future().get(), std::this_thread::get_id());
  client.close();
}

}  // namespace
}  // namespace simba
