// Locks on a boost::asio::io_context. What both flavours of Asio share is tested in asio_test.cpp
// too; here both headers are in one translation unit.
#include "simba/boost_asio.hpp"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <asio/bind_executor.hpp>
#include <asio/error_code.hpp>
#include <asio/io_context.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#if __has_include(<boost/asio/bind_immediate_executor.hpp>)
#include <boost/asio/bind_immediate_executor.hpp>
#include <boost/asio/system_executor.hpp>
#endif
#include <gtest/gtest.h>

#include "simba/asio.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/simba.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using BoostCode = boost::system::error_code;

class ClientOnBoostAsio : public ::testing::Test {
 protected:
  const std::shared_ptr<const Runtime> runtime_ = make_runtime();
  const std::shared_ptr<testkit::FaultStore> store_ =
      std::make_shared<testkit::FaultStore>(std::make_shared<memory::MemoryStore>(runtime_->clock));
  boost::asio::io_context context_;
  std::optional<Client> client_{std::make_shared<engine::LeaseServiceFactory>(store_, runtime_)};
};

boost::asio::awaitable<void> handle_boost_request(Client client, int& served) {
  Lock lock = co_await boost_asio::async_lock(client, "orders/42", {.wait = 10s},
                                              boost::asio::use_awaitable);
  EXPECT_TRUE(lock.held());
  const MutexOwner owner =
      co_await boost_asio::async_owner(client, "orders/42", boost::asio::use_awaitable);
  EXPECT_EQ(owner.owner_id(), lock.owner_id());
  LockResult busy =
      co_await boost_asio::async_try_lock(client, "orders/42", {}, boost::asio::use_awaitable);
  EXPECT_EQ(busy.outcome(), LockOutcome::busy);
  ++served;
  co_await boost_asio::async_unlock(std::move(lock), boost::asio::use_awaitable);
}

TEST_F(ClientOnBoostAsio, CoroutinesOfOneThreadTakeTurns) {
  int served = 0;  // not atomic: all on one thread
  for (int i = 0; i < 50; ++i) {
    boost::asio::co_spawn(context_, handle_boost_request(*client_, served),
                          [](const std::exception_ptr& failure) {
                            if (failure) std::rethrow_exception(failure);
                          });
  }
  context_.run();
  EXPECT_EQ(served, 50);
}

TEST_F(ClientOnBoostAsio, HandlersRunOnTheirExecutorAndNeverInsideTheInitiator) {
  std::optional<Lock> held;
  boost_asio::async_lock(*client_, "order", {},
                         boost::asio::bind_executor(context_, [&](BoostCode code, Lock lock) {
                           EXPECT_FALSE(code);
                           held = std::move(lock);
                         }));
  EXPECT_FALSE(held);
  context_.run();
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->held());

  bool confirmed = false;
  boost_asio::async_unlock(*std::move(held),
                           boost::asio::bind_executor(context_, [&](BoostCode code) {
                             EXPECT_FALSE(code);
                             confirmed = true;
                           }));
  EXPECT_FALSE(confirmed);
  context_.restart();
  context_.run();
  EXPECT_TRUE(confirmed);
  EXPECT_TRUE(client_->try_lock("order"));
}

TEST_F(ClientOnBoostAsio, AHandlerCanBeOnAStrandOfAnyExecutor) {
  const auto strand =
      boost::asio::make_strand(boost::asio::any_io_executor{context_.get_executor()});
  bool in_strand = false;
  boost_asio::async_lock(*client_, "order", {},
                         boost::asio::bind_executor(strand, [&](BoostCode code, const Lock& lock) {
                           EXPECT_FALSE(code);
                           EXPECT_TRUE(lock.held());
                           in_strand = strand.running_in_this_thread();
                         }));
  context_.run();  // the lock is work of the strand's context
  EXPECT_TRUE(in_strand);
}

TEST_F(ClientOnBoostAsio, ErrorsAreCodes) {
  const Lock held = client_->lock("order");
  std::vector<BoostCode> codes;
  const auto note = [&](BoostCode code, const Lock& lock) {
    EXPECT_FALSE(lock);
    codes.push_back(code);
  };
  boost_asio::async_lock(*client_, "", {}, boost::asio::bind_executor(context_, note));
  boost_asio::async_lock(*client_, "order", {.wait = 0s},
                         boost::asio::bind_executor(context_, note));
  EXPECT_TRUE(codes.empty());
  context_.run();
  ASSERT_EQ(codes.size(), 2U);
  EXPECT_TRUE(codes.at(0) == make_error_code(ErrorKind::invalid_argument));
  EXPECT_TRUE(codes.at(1) == make_error_code(ErrorKind::timeout));
  EXPECT_TRUE(codes.at(1).failed());
  EXPECT_EQ(codes.at(1).message(), "timeout");
  EXPECT_EQ(std::error_code{codes.at(1)}.category(), error_category());
}

TEST_F(ClientOnBoostAsio, ACancellationCompletesAtOnceAndTheGrantUnderWayIsGivenBack) {
  store_->next(testkit::Operation::acquire, testkit::Fault::hold_answer());
  boost::asio::cancellation_signal signal;
  std::optional<BoostCode> result;
  boost_asio::async_lock(*client_, "order", {},
                         boost::asio::bind_cancellation_slot(
                             signal.slot(), boost::asio::bind_executor(
                                                context_, [&](BoostCode code, const Lock& lock) {
                                                  EXPECT_FALSE(lock);
                                                  result = code;
                                                })));
  signal.emit(boost::asio::cancellation_type::all);
  EXPECT_FALSE(result);
  context_.run();
  EXPECT_EQ(result, BoostCode{boost::asio::error::operation_aborted});
  store_->release_answers();
  EXPECT_TRUE(client_->lock("order", {.wait = 5s}).held());
}

TEST_F(ClientOnBoostAsio, ACancelledTryLockIsAbortedToo) {
  const Lock held = client_->lock("order");
  boost::asio::cancellation_signal signal;
  std::optional<BoostCode> result;
  boost_asio::async_try_lock(
      *client_, "order", {.wait = forever},
      boost::asio::bind_cancellation_slot(
          signal.slot(),
          boost::asio::bind_executor(context_, [&](BoostCode code, const LockResult& lock) {
            EXPECT_EQ(lock.outcome(), LockOutcome::cancelled);
            result = code;
          })));
  signal.emit(boost::asio::cancellation_type::terminal);
  context_.run();
  EXPECT_EQ(result, BoostCode{boost::asio::error::operation_aborted});
}

TEST_F(ClientOnBoostAsio, AHandlerThatItsContextDoesNotCallIsNoticed) {
  testkit::ManualRuntime world;
  const auto runtime = std::make_shared<Runtime>(*world.runtime());
  runtime->delays = DelayMonitor::make(runtime->clock, *runtime->timers, runtime->log);
  const Client client{std::make_shared<engine::LeaseServiceFactory>(
      std::make_shared<memory::MemoryStore>(runtime->clock), runtime)};
  Lock lock;
  LockResult other;
  boost_asio::async_lock(client, "order", {.id = "me"},
                         boost::asio::bind_executor(context_, [&](BoostCode, Lock granted) {
                           lock = std::move(granted);
                         }));
  boost_asio::async_try_lock(
      client, "other", {.id = "me"},
      boost::asio::bind_executor(boost::asio::any_io_executor{context_.get_executor()},
                                 [&](BoostCode, LockResult result) { other = std::move(result); }));
  boost_asio::async_owner(
      client, "order", boost::asio::bind_executor(context_, [](BoostCode, const MutexOwner&) {}));
  world.advance(1s);
  EXPECT_EQ(runtime->delays->delayed(), 3U);
  EXPECT_TRUE(world.log().contains("a handler that awaits mutex [order], contender [me]"));
  EXPECT_TRUE(world.log().contains("a handler that awaits mutex [other], contender [me]"));
  EXPECT_TRUE(world.log().contains("a handler that awaits the owner of mutex [order]"));
  EXPECT_EQ(world.log().count("its executor is busy or has stopped"), 1U) << world.log().text();
  context_.run();
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(other);
  boost_asio::async_unlock(std::move(lock), boost::asio::bind_executor(context_, [](BoostCode) {}));
  world.advance(1s);
  EXPECT_EQ(runtime->delays->delayed(), 4U);
  EXPECT_TRUE(
      world.log().contains("a handler that awaits the release of mutex [order], contender [me]"));
  context_.restart();
  context_.run();
  world.advance(10s);
  EXPECT_EQ(runtime->delays->delayed(), 4U);
}

TEST_F(ClientOnBoostAsio, TheClientsEndCompletesEveryOperationWithAnError) {
  const Lock held = client_->lock("order");
  int ended = 0;
  for (int i = 0; i < 10; ++i) {
    boost_asio::async_lock(*client_, "order", {},
                           boost::asio::bind_executor(context_, [&](BoostCode code, const Lock&) {
                             EXPECT_TRUE(code == make_error_code(ErrorKind::illegal_state));
                             ++ended;
                           }));
  }
  client_.reset();
  EXPECT_EQ(ended, 0) << "not inside a destructor";
  context_.run();
  EXPECT_EQ(ended, 10);
  EXPECT_TRUE(held.held());
}

boost::asio::awaitable<void> lock_without_name(Client client, std::optional<BoostCode>& thrown) {
  try {
    const Lock lock = co_await boost_asio::async_lock(client, "", {}, boost::asio::use_awaitable);
  } catch (const boost::system::system_error& error) {
    thrown = error.code();
  }
}

TEST_F(ClientOnBoostAsio, ACoroutineIsThrownTheErrorOfBoost) {
  std::optional<BoostCode> thrown;
  boost::asio::co_spawn(context_, lock_without_name(*client_, thrown), boost::asio::detached);
  context_.run();
  ASSERT_TRUE(thrown);
  EXPECT_TRUE(*thrown == make_error_code(ErrorKind::invalid_argument));
}

template <class T>
struct CountingAllocator {
  using value_type = T;

  explicit CountingAllocator(int& count) : allocations{&count} {}
  template <class U>
  // NOLINTNEXTLINE(google-explicit-constructor): as allocators are converted
  CountingAllocator(const CountingAllocator<U>& other) : allocations{other.allocations} {}

  T* allocate(std::size_t count) {
    ++*allocations;
    return std::allocator<T>{}.allocate(count);
  }
  void deallocate(T* memory, std::size_t count) { std::allocator<T>{}.deallocate(memory, count); }
  bool operator==(const CountingAllocator&) const = default;

  int* allocations;
};

TEST_F(ClientOnBoostAsio, WhatIsPostedIsInMemoryOfTheHandlersAllocator) {
  int allocations = 0;
  bool called = false;
  boost_asio::async_owner(*client_, "order",
                          boost::asio::bind_allocator(
                              CountingAllocator<std::byte>{allocations},
                              boost::asio::bind_executor(
                                  context_, [&](BoostCode, const MutexOwner&) { called = true; })));
  context_.run();
  EXPECT_TRUE(called);
  EXPECT_EQ(allocations, 1);
}

TEST_F(ClientOnBoostAsio, AllCallbacksOfAClientCanComeOnTheContext) {
  const Client client{std::make_shared<engine::LeaseServiceFactory>(store_, runtime_),
                      {.executor = boost_asio::make_asio_executor(context_.get_executor())}};
  std::thread::id elected_on;
  auto work = boost::asio::make_work_guard(context_);
  Election election;
  election = client.elect("leader", {.on_elected = [&](const Leadership&) {
                            elected_on = std::this_thread::get_id();
                            election.stop();  // on the thread of the executor
                            work.reset();
                          }});
  context_.run();
  EXPECT_EQ(elected_on, std::this_thread::get_id());
}

#if __has_include(<boost/asio/bind_immediate_executor.hpp>)
TEST_F(ClientOnBoostAsio, WhatCompletesInsideTheInitiatorGoesToTheImmediateExecutor) {
  int called = 0;
  auto count = boost::asio::bind_immediate_executor(
      boost::asio::system_executor{},
      boost::asio::bind_executor(context_, [&](BoostCode code, const Lock&) {
        EXPECT_TRUE(code);
        ++called;
      }));
  boost_asio::async_lock(*client_, "", {}, count);
  EXPECT_EQ(called, 1) << "the system executor calls at once";

  const Lock held = client_->lock("order");
  boost_asio::async_lock(*client_, "order", {}, count);
  client_->close();
  EXPECT_EQ(called, 1) << "what completes later goes to the associated executor";
  context_.restart();  // it was out of work after the first
  context_.run();
  EXPECT_EQ(called, 2);
}
#endif

TEST_F(ClientOnBoostAsio, BothFlavoursOfAsioLockInOneTranslationUnit) {
  asio::io_context standalone;
  std::optional<Lock> held;
  simba::async_lock(*client_, "order", {},
                    asio::bind_executor(standalone, [&](auto code, Lock lock) {
                      static_assert(std::same_as<decltype(code), asio::error_code>);
                      EXPECT_FALSE(code);
                      held = std::move(lock);
                    }));
  standalone.run();
  ASSERT_TRUE(held);

  bool granted = false;
  simba::boost_asio::async_lock(*client_, "order", {.wait = 10s},
                                boost::asio::bind_executor(context_, [&](auto code, Lock lock) {
                                  static_assert(std::same_as<decltype(code), BoostCode>);
                                  EXPECT_FALSE(code);
                                  granted = lock.held();
                                }));
  context_.poll();
  EXPECT_FALSE(granted);
  simba::async_unlock(*std::move(held),
                      asio::bind_executor(standalone, [](auto code) { EXPECT_FALSE(code); }));
  standalone.restart();
  standalone.run();
  context_.run();
  EXPECT_TRUE(granted);
}

}  // namespace
}  // namespace simba
