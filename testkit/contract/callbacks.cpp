// What contenders and observers may do inside their callbacks.
#include <atomic>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "simba/locker/simba_locker.hpp"
#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

void stop_in_on_acquired_releases_the_mutex(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  std::atomic<std::size_t> released_inside{0};
  std::atomic<bool> stopped{false};
  Member brief{contract,
               mutex,
               *one,
               {.acquired =
                    [&](Member& self) {
                      self.stop();
                      released_inside = self.releases();
                      stopped = true;
                    },
                .released = {}}};
  Member next{contract, mutex, *another};
  brief.start();
  ASSERT_TRUE(brief.has_released());
  next.start();
  ASSERT_TRUE(next.has_acquired());
  // The next one may own before stop() has returned inside the callback.
  EXPECT_TRUE(contract.eventually([&] { return stopped.load(); }));
  EXPECT_EQ(released_inside, 1U) << "on_released comes before stop() returns";
  EXPECT_EQ(brief.service().status(), ServiceStatus::initial);
  EXPECT_FALSE(brief.service().is_owner());
  brief.start();
  next.stop();
  EXPECT_TRUE(brief.has_released(2));
}

void close_in_on_released_does_no_harm(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  Member owner{contract, mutex, *one, {.acquired = {}, .released = [&](Member& self) {
                                         self.service().close();
                                         self.stop();
                                       }}};
  Member next{contract, mutex, *another};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  next.start();
  owner.stop();
  EXPECT_EQ(owner.releases(), 1U);
  EXPECT_EQ(owner.service().status(), ServiceStatus::initial);
  EXPECT_TRUE(next.has_acquired());
}

void stop_in_the_callback_of_an_observer_ends_it(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto factory = contract.factory();
  Observer observer{contract, mutex, *factory, [](Observer& self) { self.service().stop(); }};
  Member member{contract, mutex, *factory};
  observer.service().start();
  member.start();
  ASSERT_TRUE(member.has_acquired());
  ASSERT_TRUE(
      contract.eventually([&] { return observer.service().status() == ServiceStatus::initial; }));
  EXPECT_EQ(observer.states().size(), 1U);
  member.stop();
  EXPECT_FALSE(contract.within(contract.hand_over(), [&] { return observer.states().size() > 1; }));
}

void a_slow_callback_disturbs_no_renewal(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.factory(lease);
  const auto another = contract.factory(lease);
  Gate gate;
  Member slow{contract,
              mutex,
              *one,
              {.acquired = [&](Member&) { gate.wait_for(contract.patience()); }, .released = {}}};
  Member waiter{contract, mutex, *another};
  slow.start();
  ASSERT_TRUE(slow.has_acquired());
  waiter.start();
  EXPECT_FALSE(waiter.acquires_within(length(lease) * 3 / 2));
  EXPECT_TRUE(slow.service().is_owner());
  EXPECT_EQ(slow.losses(), 0U);
  gate.open();
  slow.stop();
  EXPECT_EQ(slow.releases(), 1U);
  EXPECT_TRUE(waiter.has_acquired());
}

void a_slow_callback_disturbs_no_other_mutex(Contract& contract) {
  const auto factory = contract.factory();
  Gate gate;
  Member slow{
      contract,
      contract.fresh_name(),
      *factory,
      {.acquired = [&](Member&) { gate.wait_for(2 * contract.patience()); }, .released = {}}};
  slow.start();
  ASSERT_TRUE(slow.has_acquired());

  const std::string mutex = contract.fresh_name();
  Member first{contract, mutex, *factory};
  Member second{contract, mutex, *factory};
  Observer observer{contract, mutex, *factory};
  observer.service().start();
  first.start();
  EXPECT_TRUE(first.has_acquired());
  second.start();
  first.stop();
  EXPECT_TRUE(second.has_acquired());
  EXPECT_TRUE(observer.sees(second));
  second.stop();
  SimbaLocker locker{mutex, *factory};
  locker.acquire(contract.patience());
  EXPECT_EQ(slow.releases(), 0U);
  gate.open();
}

void a_throwing_callback_changes_nothing(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.factory(lease);
  const auto another = contract.factory(lease);
  const auto throw_error = [](Member&) { throw std::runtime_error{"thrown by the test"}; };
  const auto throw_number = [](Member&) { throw 42; };
  Member owner{contract, mutex, *one, {.acquired = throw_error, .released = throw_number}};
  Observer observer{contract, mutex, *another,
                    [](Observer&) { throw std::runtime_error{"thrown by the test"}; }};
  Member waiter{contract, mutex, *another};
  observer.service().start();
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  ASSERT_TRUE(observer.sees(owner));
  waiter.start();
  EXPECT_FALSE(waiter.acquires_within(length(lease))) << "it is renewed all the same";
  EXPECT_TRUE(owner.service().is_owner());
  owner.stop();
  EXPECT_EQ(owner.releases(), 1U);
  ASSERT_TRUE(waiter.has_acquired());
  EXPECT_TRUE(observer.sees(waiter));
  waiter.stop();
  owner.start();
  EXPECT_TRUE(owner.has_acquired(2));
}

/// One thread of a user's own.
class OneThread final : public Executor {
 public:
  OneThread() : thread_{[this](const std::stop_token& stop) { run(stop); }} {}

  void execute(std::function<void()> task) override {
    {
      const std::lock_guard lock{mutex_};
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }

  bool running_in_this_thread() const noexcept override {
    return std::this_thread::get_id() == thread_.get_id();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (changed_.wait(lock, stop, [&] { return !tasks_.empty(); })) {
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  std::jthread thread_;
};

void callbacks_come_on_the_executor_that_was_given(Contract& contract) {
  const auto executor = std::make_shared<OneThread>();
  const auto factory = contract.factory();
  std::atomic<int> elsewhere{0};
  const auto look = [&](Member&) { elsewhere += executor->running_in_this_thread() ? 0 : 1; };
  {
    ContendServiceOptions options;
    options.executor = executor;
    Member member{
        contract, contract.fresh_name(), *factory, {.acquired = look, .released = look}, options};
    for (std::size_t life = 1; life <= 3; ++life) {
      member.start();
      ASSERT_TRUE(member.has_acquired(life));
      member.stop();
      ASSERT_EQ(member.releases(), life);
    }
  }
  EXPECT_TRUE(contract.eventually([&] { return executor.use_count() == 1; }))
      << "nobody holds the executor once the service is gone";
  EXPECT_EQ(elsewhere, 0);
}

}  // namespace

ContractCases callback_cases() {
  return {
      {"StopInOnAcquiredReleasesTheMutex", stop_in_on_acquired_releases_the_mutex},
      {"CloseInOnReleasedDoesNoHarm", close_in_on_released_does_no_harm},
      {"StopInTheCallbackOfAnObserverEndsIt", stop_in_the_callback_of_an_observer_ends_it},
      {"ASlowCallbackDisturbsNoRenewal", a_slow_callback_disturbs_no_renewal},
      {"ASlowCallbackDisturbsNoOtherMutex", a_slow_callback_disturbs_no_other_mutex},
      {"AThrowingCallbackChangesNothing", a_throwing_callback_changes_nothing},
      {"CallbacksComeOnTheExecutorThatWasGiven", callbacks_come_on_the_executor_that_was_given},
  };
}

}  // namespace simba::testkit::detail
