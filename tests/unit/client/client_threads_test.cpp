// Locks of a client with real threads and real time.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simba/config/configuration.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/simba.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_executor.hpp"
#include "support/patience.hpp"
#include "support/safety.hpp"
#include "support/temporary_folder.hpp"
#include "unit/core/forked.hpp"
#include "unit/core/gate.hpp"
#include "unit/core/own_threads.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

TEST(ClientThreads, GrantsCancellationsTimeoutsAndUnlocksThatCrossLeaveOneHolderAndNothingBehind) {
  const Client client{"memory:"};
  std::atomic<int> holders{0};
  std::atomic<int> overlaps{0};
  std::atomic<int> held{0};
  const auto work = [&](unsigned seed) {
    std::minstd_rand random{seed};
    for (int i = 0; i < 200; ++i) {
      std::stop_source stop;
      std::jthread canceller;
      if (random() % 4 == 0) canceller = std::jthread{[&stop] { stop.request_stop(); }};
      LockResult lock = client.try_lock(
          "order", {.wait = std::chrono::microseconds{random() % 2000}}, stop.get_token());
      if (!lock) continue;
      if (holders.fetch_add(1) != 0) ++overlaps;
      ++held;
      holders.fetch_sub(1);
      if (random() % 2 == 0) lock->unlock();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 1; seed <= 6; ++seed) threads.emplace_back(work, seed);
  }
  EXPECT_EQ(overlaps, 0) << support::safety_violation << "two holders";
  EXPECT_GT(held, 0);
  EXPECT_TRUE(client.lock("order", {.wait = 5s}).held()) << "nothing was left behind";
}

TEST(ClientThreads, ClosingEndsTheWaitsOfAllThreads) {
  std::optional<Client> client{"memory:"};
  const Lock held = client->lock("order");
  std::atomic<int> ended{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([copy = *client, &ended] {
        try {
          static_cast<void>(copy.lock("order"));
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::illegal_state) ++ended;
        }
      });
    }
    client->close();
  }
  EXPECT_EQ(ended, 8);
  EXPECT_TRUE(held.held());
}

TEST(ClientThreads, AnElectionWhoseOnElectedOutlastsItsMaxHoldIsDeposedBeforeItLeadsAgain) {
  const auto runtime = make_runtime({.log = make_null_logger()});
  const auto store = std::make_shared<memory::MemoryStore>(runtime->clock);
  const auto make_factory = [&] {
    return std::make_shared<engine::LeaseServiceFactory>(
        store, runtime,
        ContentionOptions{.ttl = 300ms, .transition = 1500ms, .drain_limit = 100ms});
  };
  const Client client{make_factory()};
  const Client other{make_factory()};
  test::Gate first_may_return;
  test::Gate deposed;
  test::Gate leads_again;
  std::atomic<int> elections{0};
  std::optional<Loss> why;
  const auto on_elected = [&](const Leadership&) {
    if (++elections > 1) return leads_again.open();
    EXPECT_TRUE(first_may_return.opens());
  };
  const auto on_deposed = [&](Loss loss) {
    if (why) return;
    EXPECT_EQ(elections, 1);
    why = loss;
    deposed.open();
  };
  const Election election = client.elect(
      "leader", {.on_elected = on_elected, .on_deposed = on_deposed, .max_hold = 100ms});
  ASSERT_TRUE(support::eventually([&] { return elections == 1; }));
  LockResult lock = other.try_lock("leader", {.wait = support::scaled(20s)});
  EXPECT_TRUE(lock) << "it neither renews its lease nor contends while on_elected still runs";
  first_may_return.open();
  EXPECT_TRUE(deposed.opens());
  EXPECT_EQ(why, Loss::max_hold);
  lock->unlock();
  EXPECT_TRUE(leads_again.opens());
}

TEST(ClientThreads, NoCallbackRunsAfterStopEvenIfItWasOwedByOneThatOutlastedTheDrainLimit) {
  const auto runtime = make_runtime({.log = make_null_logger()});
  const Client client{std::make_shared<engine::LeaseServiceFactory>(
      std::make_shared<memory::MemoryStore>(runtime->clock), runtime,
      ContentionOptions{.ttl = 300ms, .transition = 1500ms, .drain_limit = 1s})};
  test::Gate deposed;
  test::Gate stopping;
  std::atomic<bool> elected{false};
  std::atomic<bool> has_stepped_down{false};
  std::atomic<bool> callback_over{false};
  const auto on_elected = [&](const Leadership& me) {
    elected = true;
    EXPECT_TRUE(support::eventually([&] { return has_stepped_down.load(); }));
    EXPECT_TRUE(me.lost().stop_requested());
  };
  const auto on_deposed = [&](Loss) {
    deposed.open();
    EXPECT_TRUE(stopping.opens());
    callback_over = true;
  };
  Election election = client.elect("leader", {.on_elected = on_elected, .on_deposed = on_deposed});
  ASSERT_TRUE(support::eventually([&] { return elected.load(); }));
  election.step_down();  // returns after the drain limit
  has_stepped_down = true;
  ASSERT_TRUE(deposed.opens());
  const std::jthread meanwhile{[&] { stopping.open(); }};
  election.stop();
  EXPECT_TRUE(callback_over) << support::safety_violation;
}

TEST(ClientThreads, AnElectionThatIsStoppedInAnOnElectedThatOutlastedTheDrainLimitIsDeposedThere) {
  const auto runtime = make_runtime({.log = make_null_logger()});
  const Client client{std::make_shared<engine::LeaseServiceFactory>(
      std::make_shared<memory::MemoryStore>(runtime->clock), runtime,
      ContentionOptions{.ttl = 300ms, .transition = 1500ms, .drain_limit = 100ms})};
  test::Gate elected;
  test::Gate has_stepped_down;
  test::Gate returns;
  std::optional<Loss> deposed;
  Election election;
  const auto on_elected = [&](const Leadership&) {
    elected.open();
    EXPECT_TRUE(has_stepped_down.opens());
    election.stop();
    EXPECT_EQ(deposed, Loss::given_up);
    returns.open();
  };
  election = client.elect(
      "leader", {.on_elected = on_elected, .on_deposed = [&](Loss why) { deposed = why; }});
  ASSERT_TRUE(elected.opens());
  election.step_down();  // returns after the drain limit
  has_stepped_down.open();
  ASSERT_TRUE(returns.opens());
}

/// The executor of a user, which can reject. What it accepts waits until it is told to run it.
class UsersExecutor final : public Executor {
 public:
  void execute(std::function<void()> task) override {
    if (rejects) throw std::runtime_error{"not today"};
    tasks_.execute(std::move(task));
  }
  bool running_in_this_thread() const noexcept override { return false; }

  bool run_one() { return tasks_.run_one(); }

  std::atomic<bool> rejects{false};

 private:
  testkit::ManualExecutor tasks_;
};

/// Keeps every line, and does something at the first one that contains a text.
class ActingLogger final : public Logger {
 public:
  ActingLogger(std::string text, std::function<void()> act)
      : text_{std::move(text)}, act_{std::move(act)} {}

  bool enabled(LogLevel level) const noexcept override { return kept.enabled(level); }
  void log(LogLevel level, std::string_view message) noexcept override {
    kept.log(level, message);
    if (message.find(text_) != std::string_view::npos && !acted_.exchange(true)) act_();
  }

  testkit::CapturingLogger kept;

 private:
  const std::string text_;
  const std::function<void()> act_;
  std::atomic<bool> acted_{false};
};

/// A leader whose first on_elected returns when its service has just given it up, so that only the
/// election can still have on_deposed called.
class ElectionWithALateEnd : public ::testing::Test {
 protected:
  ElectionWithALateEnd() {
    runtime_->log = log_;
    runtime_->delays = DelayMonitor::make(runtime_->clock, *runtime_->timers, log_);
    client_.emplace(make_factory(), ClientOptions{.executor = executor_});
    other_.emplace(make_factory());
  }

  /// `on_elected` has returned when this does.
  void elect_and_step_down() {
    std::atomic<bool> returned{false};
    test::Gate elected;
    const auto on_elected = [&, this](const Leadership&) {
      if (++elections_ > 1) return;
      elected.open();
      EXPECT_TRUE(may_return_.opens());
      returned = true;
    };
    runner_ = std::thread{[&] {
      EXPECT_TRUE(support::eventually([&] {
        executor_->run_one();
        return returned.load();
      }));
    }};
    election_ = client_->elect("leader", {.on_elected = on_elected,
                                          .on_deposed =
                                              [this](Loss why) {
                                                EXPECT_EQ(why, Loss::given_up);
                                                ++depositions_;
                                              },
                                          .id = "me"});
    ASSERT_TRUE(elected.opens());
    election_.step_down();
    ASSERT_TRUE(returned);
  }

  std::shared_ptr<engine::LeaseServiceFactory> make_factory() const {
    return std::make_shared<engine::LeaseServiceFactory>(
        store_, runtime_,
        ContentionOptions{.ttl = 300ms, .transition = 1500ms, .drain_limit = 100ms});
  }

  test::Gate may_return_;
  std::thread runner_;
  const std::shared_ptr<UsersExecutor> executor_ = std::make_shared<UsersExecutor>();
  std::function<void()> just_then_ = [] {};
  const std::shared_ptr<ActingLogger> log_ =
      std::make_shared<ActingLogger>("is still running after its service was stopped", [this] {
        may_return_.open();
        runner_.join();
        just_then_();
      });
  const std::shared_ptr<const Runtime> made_ = make_runtime({.log = make_null_logger()});
  const std::shared_ptr<Runtime> runtime_ = std::make_shared<Runtime>(*made_);
  const std::shared_ptr<memory::MemoryStore> store_ =
      std::make_shared<memory::MemoryStore>(runtime_->clock);
  std::optional<Client> client_;
  std::optional<Client> other_;
  std::atomic<int> elections_{0};
  std::atomic<int> depositions_{0};
  Election election_;
};

TEST_F(ElectionWithALateEnd, IsNoticedIfItsExecutorHasStoppedAndIsToldByStop) {
  ASSERT_NO_FATAL_FAILURE(elect_and_step_down());
  EXPECT_TRUE(support::eventually([&] {
    return log_->kept.contains(
        "not started after 1 s: a callback of mutex [leader], contender [me]");
  })) << log_->kept.text();
  ASSERT_TRUE(other_->try_lock("leader", {.wait = support::scaled(20s)}));
  EXPECT_FALSE(support::within(1s, [&] { return election_.is_leader(); }))
      << "it leads again before on_deposed was called";
  EXPECT_EQ(depositions_, 0);
  election_.stop();
  EXPECT_EQ(depositions_, 1);
  while (executor_->run_one()) continue;
  EXPECT_EQ(depositions_, 1) << support::safety_violation << "after stop()";
}

TEST_F(ElectionWithALateEnd, IsToldOnTheRuntimesExecutorIfItsOwnRejectsAndItLeadsAgain) {
  just_then_ = [this] { executor_->rejects = true; };
  ASSERT_NO_FATAL_FAILURE(elect_and_step_down());
  EXPECT_TRUE(support::eventually([&] { return depositions_ == 1; })) << log_->kept.text();
  EXPECT_TRUE(log_->kept.contains("rejected a task")) << log_->kept.text();
  EXPECT_TRUE(support::eventually([&] { return elections_ == 2; })) << log_->kept.text();
  election_.stop();
  EXPECT_EQ(depositions_, 2);
}

TEST(ClientThreads, AForkedChildHoldsNothingIsToldSoAndReleasesNothing) {
  const support::TemporaryFolder folder;
  const Client client{"sqlite:" + (folder.path() / "simba.db").string()};
  Lock lock = client.lock("order");
  Election election = client.elect("leader", {});
  Watch watch = client.watch("order", [](const MutexOwner&) {});
  EXPECT_TRUE(test::in_forked_child([&] {
    bool told = false;
    try {
      static_cast<void>(client.try_lock("stock"));
    } catch (const IllegalStateError&) {
      told = true;
    }
    const bool nothing = !lock.held() && lock.lost().stop_requested() && !election.is_leader();
    // What a child destroys on its way out.
    lock.unlock();
    election = {};
    watch = {};
    client.close();
    return told && nothing;
  }));
  EXPECT_TRUE(lock.verify());
  EXPECT_TRUE(lock.unlock_confirmed());
}

class ClientElectionThreads : public ::testing::Test {
 protected:
  Client client(const std::shared_ptr<testkit::FaultStore>& store) {
    ContentionOptions options;
    options.ttl = 500ms;
    options.transition = 1s;
    options.drain_limit = 10s;  // only a test that fails takes so long
    return Client{
        std::make_shared<engine::LeaseServiceFactory>(store, make_runtime({.log = log_}), options)};
  }

  const std::shared_ptr<testkit::CapturingLogger> log_ =
      std::make_shared<testkit::CapturingLogger>();
  const std::shared_ptr<memory::MemoryStore> memory_ =
      std::make_shared<memory::MemoryStore>(make_system_clock());
  const std::shared_ptr<testkit::FaultStore> store_ =
      std::make_shared<testkit::FaultStore>(memory_);
};

TEST_F(ClientElectionThreads, StopInItsCallbacksDoesNotWaitForAStopThatWaitsForThem) {
  const Client client = this->client(store_);
  Election election;
  test::Gate elected;
  std::atomic<bool> deposed{false};
  election = client.elect("leader",
                          {.on_elected =
                               [&](const Leadership& me) {
                                 elected.open();
                                 test::Gate lost;
                                 const std::stop_callback on_loss{me.lost(), [&] { lost.open(); }};
                                 EXPECT_TRUE(lost.opens());
                                 election.stop();
                               },
                           .on_deposed =
                               [&](Loss) {
                                 election.stop();
                                 deposed = true;
                               }});
  ASSERT_TRUE(elected.opens());
  election.stop();
  EXPECT_TRUE(deposed) << "stop() on another thread waits for the callbacks";
  EXPECT_EQ(log_->count(LogLevel::error), 0U) << log_->text();
  EXPECT_TRUE(client.try_lock("leader")) << "released";
}

TEST_F(ClientElectionThreads, StopInTheLossSignalDoesNotWaitForACallbackThatWaitsForTheSignal) {
  const Client client = this->client(store_);
  Election election;
  test::Gate elected;
  test::Gate called;
  test::Gate deposed;
  election = client.elect("leader", {.on_elected =
                                         [&](const Leadership& me) {
                                           const std::stop_callback stops{me.lost(), [&] {
                                                                            election.stop();
                                                                            called.open();
                                                                          }};
                                           elected.open();
                                           EXPECT_TRUE(called.opens());
                                           // The end of `stops` waits until it has returned.
                                         },
                                     .on_deposed = [&](Loss) { deposed.open(); }});
  ASSERT_TRUE(elected.opens());
  store_->cut();
  EXPECT_TRUE(deposed.opens());
  election.stop();
  EXPECT_EQ(log_->count(LogLevel::error), 0U) << log_->text();
  store_->mend();
  EXPECT_TRUE(client.try_lock("leader", {.wait = 30s}));
}

TEST_F(ClientElectionThreads, MayBeDestroyedInItsLossSignal) {
  const Client client = this->client(store_);
  std::optional<Election> election;
  test::Gate elected;
  test::Gate deposed;
  std::optional<std::stop_callback<std::function<void()>>> ends;
  election = client.elect("leader", {.on_elected = [&](const Leadership&) { elected.open(); },
                                     .on_deposed = [&](Loss) { deposed.open(); }});
  ASSERT_TRUE(elected.opens());
  ends.emplace(election->lost(), [&] { election.reset(); });
  store_->cut();
  EXPECT_TRUE(deposed.opens());
  store_->mend();
  EXPECT_TRUE(client.try_lock("leader", {.wait = 30s}));
  EXPECT_EQ(log_->count(LogLevel::error), 0U) << log_->text();
}

TEST(ClientThreads, NeitherTheConstructorNorACopyOpensAnything) {
  // Nobody listens there, and no such file can be made.
  const Client redis{"redis://127.0.0.1:1"};
  const Client sqlite{config::Configuration::from_url("sqlite:/nowhere/at/all.db")};
  const Client copy = sqlite;
  EXPECT_THROW(static_cast<void>(copy.try_lock("order")), Error);
  EXPECT_THROW(Client{"nonsense:"}, Error);
}

}  // namespace
}  // namespace simba
