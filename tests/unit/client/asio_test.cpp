// Locks on an asio::io_context.
#include "simba/asio.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/execution/blocking.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/execution_context.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#if __has_include(<asio/bind_immediate_executor.hpp>)
#include <asio/bind_immediate_executor.hpp>
#include <asio/system_executor.hpp>
#endif
#include <gtest/gtest.h>

#include "simba/core/runtime.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/simba.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

class ClientOnAsio : public ::testing::Test {
 protected:
  const std::shared_ptr<const Runtime> runtime_ = make_runtime();
  const std::shared_ptr<testkit::FaultStore> store_ =
      std::make_shared<testkit::FaultStore>(std::make_shared<memory::MemoryStore>(runtime_->clock));
  asio::io_context context_;
  std::optional<Client> client_{std::make_shared<engine::LeaseServiceFactory>(store_, runtime_)};
};

asio::awaitable<void> handle_request(Client client, int& served) {
  Lock lock = co_await async_lock(client, "orders/42", {.wait = 10s}, asio::use_awaitable);
  EXPECT_TRUE(lock.held());
  const MutexOwner owner = co_await async_owner(client, "orders/42", asio::use_awaitable);
  EXPECT_EQ(owner.owner_id(), lock.owner_id());
  LockResult busy = co_await async_try_lock(client, "orders/42", {}, asio::use_awaitable);
  EXPECT_EQ(busy.outcome(), LockOutcome::busy);
  ++served;
  co_await async_unlock(std::move(lock), asio::use_awaitable);
}

TEST_F(ClientOnAsio, CoroutinesOfOneThreadTakeTurns) {
  int served = 0;  // not atomic: all on one thread
  for (int i = 0; i < 50; ++i) {
    asio::co_spawn(context_, handle_request(*client_, served),
                   [](const std::exception_ptr& failure) {
                     if (failure) std::rethrow_exception(failure);
                   });
  }
  context_.run();
  EXPECT_EQ(served, 50);
}

TEST_F(ClientOnAsio, AHandlerRunsOnItsExecutorAndNeverInsideTheInitiator) {
  bool called = false;
  async_lock(*client_, "order", {},
             asio::bind_executor(context_, [&](asio::error_code code, const Lock& lock) {
               called = true;
               EXPECT_FALSE(code);
               EXPECT_TRUE(lock.held());
             }));
  EXPECT_FALSE(called);
  context_.run();
  EXPECT_TRUE(called);
}

TEST_F(ClientOnAsio, AHandlerCanBeOnAStrandOfAnyExecutor) {
  const auto strand = asio::make_strand(asio::any_io_executor{context_.get_executor()});
  bool in_strand = false;
  async_lock(*client_, "order", {},
             asio::bind_executor(strand, [&](asio::error_code code, const Lock& lock) {
               EXPECT_FALSE(code);
               EXPECT_TRUE(lock.held());
               in_strand = strand.running_in_this_thread();
             }));
  context_.run();  // the lock is work of the strand's context
  EXPECT_TRUE(in_strand);
}

TEST_F(ClientOnAsio, ErrorsAreCodes) {
  const Lock held = client_->lock("order");
  std::vector<asio::error_code> codes;
  const auto note = [&](asio::error_code code, const Lock& lock) {
    EXPECT_FALSE(lock);
    codes.push_back(code);
  };
  async_lock(*client_, "", {}, asio::bind_executor(context_, note));
  async_lock(*client_, "order", {.wait = 0s}, asio::bind_executor(context_, note));
  EXPECT_TRUE(codes.empty());
  context_.run();
  ASSERT_EQ(codes.size(), 2U);
  EXPECT_EQ(codes.at(0), make_error_code(ErrorKind::invalid_argument));
  EXPECT_EQ(codes.at(1), make_error_code(ErrorKind::timeout));
  EXPECT_EQ(codes.at(1).message(), "timeout");
  EXPECT_STREQ(codes.at(1).category().name(), "simba");
}

TEST_F(ClientOnAsio, ThereIsNothingToUnlockWithoutALock) {
  Lock lock = client_->lock("order");
  Lock empty;
  const Lock moved = std::move(lock);
  int completed = 0;
  for (Lock* const none : {&lock, &empty}) {
    async_unlock(std::move(*none), asio::bind_executor(context_, [&](asio::error_code code) {
                   EXPECT_FALSE(code);
                   ++completed;
                 }));
  }
  context_.run();
  EXPECT_EQ(completed, 2);
  EXPECT_TRUE(moved.held());
}

TEST_F(ClientOnAsio, ACancellationCompletesAtOnceAndTheGrantUnderWayIsGivenBack) {
  store_->next(testkit::Operation::acquire, testkit::Fault::hold_answer());
  asio::cancellation_signal signal;
  std::optional<asio::error_code> result;
  async_lock(
      *client_, "order", {},
      asio::bind_cancellation_slot(
          signal.slot(), asio::bind_executor(context_, [&](asio::error_code code, Lock lock) {
            EXPECT_FALSE(lock);
            result = code;
          })));
  signal.emit(asio::cancellation_type::all);
  EXPECT_FALSE(result);
  context_.run();
  EXPECT_EQ(result, asio::error_code{asio::error::operation_aborted});
  store_->release_answers();
  EXPECT_TRUE(client_->lock("order", {.wait = 5s}).held());
}

TEST_F(ClientOnAsio, ACancelledTryLockIsAbortedToo) {
  const Lock held = client_->lock("order");
  asio::cancellation_signal signal;
  std::optional<asio::error_code> result;
  async_try_lock(*client_, "order", {.wait = forever},
                 asio::bind_cancellation_slot(
                     signal.slot(), asio::bind_executor(context_, [&](asio::error_code code,
                                                                      const LockResult& lock) {
                       EXPECT_EQ(lock.outcome(), LockOutcome::cancelled);
                       result = code;
                     })));
  signal.emit(asio::cancellation_type::terminal);
  context_.run();
  EXPECT_EQ(result, asio::error_code{asio::error::operation_aborted});
}

TEST_F(ClientOnAsio, AHandlerThatItsContextDoesNotCallIsNoticed) {
  testkit::ManualRuntime world;
  const auto runtime = std::make_shared<Runtime>(*world.runtime());
  runtime->delays = DelayMonitor::make(runtime->clock, *runtime->timers, runtime->log);
  const Client client{std::make_shared<engine::LeaseServiceFactory>(
      std::make_shared<memory::MemoryStore>(runtime->clock), runtime)};
  Lock lock;
  LockResult other;
  async_lock(client, "order", {.id = "me"},
             asio::bind_executor(
                 context_, [&](asio::error_code, Lock granted) { lock = std::move(granted); }));
  async_try_lock(
      client, "other", {.id = "me"},
      asio::bind_executor(asio::any_io_executor{context_.get_executor()},
                          [&](asio::error_code, LockResult result) { other = std::move(result); }));
  async_owner(client, "order",
              asio::bind_executor(context_, [](asio::error_code, const MutexOwner&) {}));
  world.advance(1s);
  EXPECT_EQ(runtime->delays->delayed(), 3U);
  EXPECT_TRUE(world.log().contains("a handler that awaits mutex [order], contender [me]"));
  EXPECT_TRUE(world.log().contains("a handler that awaits mutex [other], contender [me]"));
  EXPECT_TRUE(world.log().contains("a handler that awaits the owner of mutex [order]"));
  EXPECT_EQ(world.log().count("its executor is busy or has stopped"), 1U) << world.log().text();
  context_.run();
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(other);
  async_unlock(std::move(lock), asio::bind_executor(context_, [](asio::error_code) {}));
  world.advance(1s);
  EXPECT_EQ(runtime->delays->delayed(), 4U);
  EXPECT_TRUE(
      world.log().contains("a handler that awaits the release of mutex [order], contender [me]"));
  context_.restart();
  context_.run();
  world.advance(10s);
  EXPECT_EQ(runtime->delays->delayed(), 4U);
}

TEST_F(ClientOnAsio, TheClientsEndCompletesEveryOperationWithAnError) {
  const Lock held = client_->lock("order");
  int ended = 0;
  for (int i = 0; i < 10; ++i) {
    async_lock(*client_, "order", {},
               asio::bind_executor(context_, [&](asio::error_code code, const Lock&) {
                 EXPECT_EQ(code, make_error_code(ErrorKind::illegal_state));
                 ++ended;
               }));
  }
  client_.reset();
  EXPECT_EQ(ended, 0) << "not inside a destructor";
  context_.run();
  EXPECT_EQ(ended, 10);
  EXPECT_TRUE(held.held());
}

TEST_F(ClientOnAsio, AnyCompletionTokenWillDo) {
  std::thread thread;
  {
    const auto work = asio::make_work_guard(context_);
    thread = std::thread{[this] { context_.run(); }};
    std::future<Lock> future = async_lock(*client_, "order", {}, asio::use_future);
    Lock lock = future.get();
    EXPECT_TRUE(lock.held());
    async_unlock(std::move(lock), asio::use_future).get();
    EXPECT_TRUE(client_->try_lock("order"));
  }
  thread.join();
}

TEST_F(ClientOnAsio, AllCallbacksOfAClientCanComeOnTheContext) {
  const Client client{std::make_shared<engine::LeaseServiceFactory>(store_, runtime_),
                      {.executor = make_asio_executor(context_.get_executor())}};
  std::thread::id elected_on;
  auto work = asio::make_work_guard(context_);
  Election election;
  election = client.elect("leader", {.on_elected = [&](const Leadership&) {
                            elected_on = std::this_thread::get_id();
                            election.stop();  // on the thread of the executor
                            work.reset();
                          }});
  context_.run();
  EXPECT_EQ(elected_on, std::this_thread::get_id());
}

/// Where callbacks have been called.
class Callers {
 public:
  void note(const std::string& callback) {
    {
      const std::lock_guard lock{mutex_};
      threads_[callback].insert(std::this_thread::get_id());
      ++count_[callback];
    }
    changed_.notify_all();
  }

  /// Waits until it has been called that many times.
  void expect(const std::string& callback, int calls = 1) {
    std::unique_lock lock{mutex_};
    EXPECT_TRUE(changed_.wait_for(lock, 30s, [&] { return count_[callback] >= calls; }))
        << callback;
  }

  std::map<std::string, std::set<std::thread::id>> threads() {
    const std::lock_guard lock{mutex_};
    return threads_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::set<std::thread::id>> threads_;
  std::map<std::string, int> count_;
};

ElectionOptions noted_election(Callers& callers) {
  return {
      .on_elected = [&](const Leadership&) { callers.note("on_elected"); },
      .on_deposed = [&](Loss why) { callers.note("on_deposed: " + std::string{to_string(why)}); }};
}

/// A coroutine that begins at once and frees itself.
struct AwaitingTask {
  struct promise_type {
    AwaitingTask get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { ADD_FAILURE() << "a coroutine threw"; }
  };
};

AwaitingTask await_everything(Client client, Callers& callers) {
  Lock lock = co_await lock_async(client, "order");
  callers.note("lock_async");
  const LockResult refused = co_await try_lock_async(client, "order");
  callers.note(refused ? "" : "try_lock_async");
  static_cast<void>(co_await owner_async(client, "order"));
  callers.note("owner_async");
  static_cast<void>(co_await unlock_async(std::move(lock)));
  callers.note("unlock_async");
}

TEST_F(ClientOnAsio, EveryCallbackOfAClientComesOnTheContext) {
  Callers callers;
  const auto factory = std::make_shared<engine::LeaseServiceFactory>(
      store_, runtime_, ContentionOptions{.ttl = 200ms, .transition = 200ms});
  const Client client{factory, {.executor = make_asio_executor(context_.get_executor())}};
  auto work = asio::make_work_guard(context_);
  std::jthread user{[&] {
    Watch watch = client.watch("leader", [&](const MutexOwner&) { callers.note("watch"); });
    Election leader = client.elect("leader", noted_election(callers));
    callers.expect("watch");
    callers.expect("on_elected");
    leader.step_down();
    callers.expect("on_elected", 2);
    store_->black_hole();
    callers.expect("on_deposed: expired");
    store_->mend();
    callers.expect("on_elected", 3);
    leader.stop();
    callers.expect("on_deposed: given up", 2);

    ElectionOptions with_an_end = noted_election(callers);
    with_an_end.max_hold = 1ms;
    Election short_lived = client.elect("leader", with_an_end);
    callers.expect("on_deposed: maximum hold");
    short_lived.stop();

    ElectionOptions throwing = noted_election(callers);
    throwing.on_elected = [](const Leadership&) { throw std::runtime_error{"no"}; };
    Election failing = client.elect("leader", throwing);
    callers.expect("on_deposed: given up", 3);
    failing.stop();

    Schedule schedule =
        client.schedule("work", every(10ms), [&](const simba::Run&) { callers.note("work"); });
    callers.expect("work", 3);
    schedule.stop();

    await_everything(client, callers);
    callers.expect("unlock_async");
    watch.stop();
    work.reset();
  }};
  context_.run();
  user.join();
  const auto threads = callers.threads();
  const std::set here{std::this_thread::get_id()};
  for (const auto& [callback, where] : threads) EXPECT_EQ(where, here) << callback;
  EXPECT_EQ(threads.size(), 10U) << "every one was called";
}

/// An executor of an io_context that counts its copies.
class CountedExecutor {
 public:
  struct Count {
    std::atomic<int> alive{0};
    std::atomic<bool> outlived_work{false};  ///< on the thread that is watched
    std::atomic<std::thread::id> watched{};
    int alive_there = 0;  ///< used on that thread only; those that are no work
  };

  CountedExecutor(asio::io_context& context, std::shared_ptr<Count> count)
      : CountedExecutor{context, std::move(count), false} {}
  CountedExecutor(const CountedExecutor& other) noexcept
      : CountedExecutor{*other.context_, other.count_, other.is_work_} {}
  CountedExecutor& operator=(const CountedExecutor&) = delete;
  ~CountedExecutor() {
    --count_->alive;
    if (std::this_thread::get_id() != count_->watched) return;
    if (!is_work_) {
      --count_->alive_there;
    } else if (count_->alive_there > 0) {
      count_->outlived_work = true;
    }
  }

  template <class Function>
  void execute(Function function) const {
    asio::post(*context_, std::move(function));
  }

  asio::execution_context& query(asio::execution::context_t) const noexcept { return *context_; }
  CountedExecutor require(asio::execution::blocking_t::never_t) const { return *this; }
  CountedExecutor require(asio::execution::outstanding_work_t::tracked_t) const {
    return {*context_, count_, true};
  }

  friend bool operator==(const CountedExecutor& a, const CountedExecutor& b) noexcept {
    return a.context_ == b.context_;
  }
  friend bool operator!=(const CountedExecutor& a, const CountedExecutor& b) noexcept {
    return !(a == b);
  }

 private:
  CountedExecutor(asio::io_context& context, std::shared_ptr<Count> count, bool is_work) noexcept
      : context_{&context}, count_{std::move(count)}, is_work_{is_work} {
    ++count_->alive;
    if (!is_work_ && std::this_thread::get_id() == count_->watched) ++count_->alive_there;
  }

  asio::io_context* const context_;
  const std::shared_ptr<Count> count_;
  const bool is_work_;
};

TEST_F(ClientOnAsio, TheThreadThatCompletesHoldsWorkForAsLongAsTheExecutor) {
  const auto count = std::make_shared<CountedExecutor::Count>();
  store_->next(testkit::Operation::acquire, testkit::Fault::hold_answer());
  bool held = false;
  async_lock(*client_, "order", {},
             asio::bind_executor(CountedExecutor{context_, count},
                                 [&](asio::error_code, const Lock& lock) { held = lock.held(); }));
  std::thread completes{[&] {
    count->watched = std::this_thread::get_id();
    store_->release_answers();
  }};
  completes.join();
  EXPECT_FALSE(count->outlived_work);
  context_.run();
  EXPECT_TRUE(held);
}

TEST_F(ClientOnAsio, ThePostingThreadHoldsWorkForAsLongAsTheExecutor) {
  const auto count = std::make_shared<CountedExecutor::Count>();
  const auto executor = make_asio_executor(CountedExecutor{context_, count});
  count->watched = std::this_thread::get_id();
  bool called = false;
  executor->execute([&] { called = true; });
  EXPECT_FALSE(count->outlived_work);
  context_.run();
  EXPECT_TRUE(called);
}

TEST_F(ClientOnAsio, AnExecutorHasNothingOfItsContextOnceThatIsDestroyed) {
  const auto count = std::make_shared<CountedExecutor::Count>();
  auto context = std::make_unique<asio::io_context>();
  const auto counted = make_asio_executor(CountedExecutor{*context, count});
  const auto strand = make_asio_executor(asio::make_strand(*context));
  EXPECT_GT(count->alive, 0);
  context.reset();
  EXPECT_EQ(count->alive, 0);
  EXPECT_FALSE(strand->running_in_this_thread());
  EXPECT_THROW(strand->execute([] {}), IllegalStateError);
}

TEST_F(ClientOnAsio, AllCallbacksOfAClientCanComeOnAStrand) {
  const auto strand = asio::make_strand(asio::any_io_executor{context_.get_executor()});
  Client client{std::make_shared<engine::LeaseServiceFactory>(store_, runtime_),
                {.executor = make_asio_executor(strand)}};
  auto work = asio::make_work_guard(context_);
  bool in_strand = false;
  Election election;
  election = client.elect("leader", {.on_elected = [&](const Leadership&) {
                            in_strand = strand.running_in_this_thread();
                            election.stop();  // on the strand
                            work.reset();
                          }});
  context_.run();
  EXPECT_TRUE(in_strand);
}

#if __has_include(<asio/bind_immediate_executor.hpp>)
TEST_F(ClientOnAsio, WhatCompletesInsideTheInitiatorGoesToTheImmediateExecutor) {
  int called = 0;
  auto count = asio::bind_immediate_executor(
      asio::system_executor{},
      asio::bind_executor(context_, [&](asio::error_code code, const Lock&) {
        EXPECT_TRUE(code);
        ++called;
      }));
  async_lock(*client_, "", {}, count);
  EXPECT_EQ(called, 1) << "the system executor calls at once";

  const Lock held = client_->lock("order");
  async_lock(*client_, "order", {}, count);
  client_->close();
  EXPECT_EQ(called, 1) << "what completes later goes to the associated executor";
  context_.restart();  // it was out of work after the first
  context_.run();
  EXPECT_EQ(called, 2);
}
#endif

}  // namespace
}  // namespace simba
