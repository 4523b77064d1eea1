// Nothing of one service may reach another: real threads, and callbacks that do not return.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/served_time.hpp"
#include "unit/core/gate.hpp"
#include "unit/core/own_threads.hpp"

namespace simba::engine {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Gate;
using testkit::FaultStore;
using testkit::RecordingContender;
using testkit::RecordingHooks;
using testkit::ServedTime;

constexpr auto patience = 30s;  // only a test that fails takes so long

class Isolation : public testing::Test {
 protected:
  struct Party {
    Party(LeaseServiceFactory& factory, const std::string& mutex, const std::string& id,
          RecordingHooks hooks = {}, const ContendServiceOptions& options = {})
        : contender{mutex, id, std::move(hooks)},
          service{factory.create_mutex_contend_service(contender, options)} {}

    bool acquires() const { return contender.wait_for_acquisitions(1, patience); }

    RecordingContender contender;
    std::unique_ptr<MutexContendService> service;
  };

  std::shared_ptr<const Runtime> runtime(std::size_t most = 64) const {
    return make_runtime({.log = log_, .max_callback_threads = most});
  }

  /// Stays in on_acquired until `go_on_`.
  RecordingHooks blocking() {
    return {.on_acquired = [this](const MutexState&) {
      ++blocked_;
      EXPECT_TRUE(go_on_.opens());
    }};
  }

  const std::shared_ptr<testkit::CapturingLogger> log_ =
      std::make_shared<testkit::CapturingLogger>();
  const std::shared_ptr<FaultStore> store_ =
      std::make_shared<FaultStore>(std::make_shared<memory::MemoryStore>(make_system_clock()));
  Gate go_on_;
  std::atomic<int> blocked_{0};
};

TEST_F(Isolation, FiftyServicesThatBlockDoNotDisturbFiftyQuickOnes) {
  ContentionOptions options;
  options.ttl = 2s;
  options.transition = 3s;
  const auto runtime = this->runtime();
  LeaseServiceFactory factory{store_, runtime, options};
  std::vector<std::unique_ptr<Party>> blocking;
  std::vector<std::unique_ptr<Party>> owners;
  std::vector<std::unique_ptr<Party>> waiters;
  for (int i = 0; i < 50; ++i) {
    const std::string number = std::to_string(i);
    blocking.push_back(
        std::make_unique<Party>(factory, "blocking-" + number, "a", this->blocking()));
    owners.push_back(std::make_unique<Party>(factory, "quick-" + number, "a"));
    waiters.push_back(std::make_unique<Party>(factory, "quick-" + number, "b"));
  }
  for (const auto& party : blocking) party->service->start();
  for (const auto& party : owners) party->service->start();
  for (const auto& party : owners) ASSERT_TRUE(party->acquires());
  for (const auto& party : waiters) party->service->start();
  EXPECT_TRUE(eventually([&] { return blocked_ == 50; }));

  // All renew, those that block, too.
  const std::size_t before = store_->count(testkit::Operation::guard);
  EXPECT_TRUE(eventually([&] { return store_->count(testkit::Operation::guard) >= before + 100; }));
  for (const auto& party : blocking) EXPECT_TRUE(party->service->is_owner());
  for (const auto& party : owners) EXPECT_TRUE(party->service->is_owner());

  // All change hands, and stop.
  for (const auto& party : owners) {
    EXPECT_LT(ServedTime::taken_by([&] { party->service->stop(); }), DelayMonitor::limit);
    EXPECT_EQ(party->contender.releases(), 1U);
  }
  for (const auto& party : waiters) {
    EXPECT_LT(ServedTime::taken_by([&] { ASSERT_TRUE(party->acquires()); }), DelayMonitor::limit);
  }
  for (const auto& party : waiters) {
    EXPECT_LT(ServedTime::taken_by([&] { party->service->stop(); }), DelayMonitor::limit);
    EXPECT_EQ(party->contender.releases(), 1U);
  }
  EXPECT_EQ(blocked_, 50);
  go_on_.open();
  for (const auto& party : blocking) party->service->stop();
  EXPECT_TRUE(eventually([] { return test::threads_named("simba-call-") == 2; }));
}

TEST_F(Isolation, FourLeadersThatWorkInOnAcquiredAllDo) {
  LeaseServiceFactory factory{store_, runtime(), {}};
  std::atomic<int> working{0};
  std::vector<std::unique_ptr<Party>> leaders;
  leaders.reserve(4);
  for (int i = 0; i < 4; ++i) {
    leaders.push_back(std::make_unique<Party>(
        factory, "leader-" + std::to_string(i), "me",
        RecordingHooks{.on_acquired = [&, i](const MutexState&) {
          ++working;
          std::mutex mutex;
          std::condition_variable_any changed;
          std::unique_lock lock{mutex};
          changed.wait(lock, leaders.at(static_cast<std::size_t>(i))->service->lost(),
                       [] { return false; });
          --working;
        }}));
  }
  for (const auto& leader : leaders) leader->service->start();
  EXPECT_TRUE(eventually([&] { return working == 4; }));
  for (const auto& leader : leaders) {
    leader->service->stop();
    EXPECT_EQ(leader->contender.releases(), 1U);
  }
  EXPECT_EQ(working, 0);
}

TEST_F(Isolation, StopDeliversAndReleasesWhileOthersBlockEveryThread) {
  const auto runtime = this->runtime(2);
  LeaseServiceFactory factory{store_, runtime, {}};
  Party one{factory, "blocking-1", "a", blocking()};
  Party two{factory, "blocking-2", "a", blocking()};
  one.service->start();
  two.service->start();
  ASSERT_TRUE(eventually([&] { return blocked_ == 2; }));

  Party quick{factory, "quick", "a"};
  quick.service->start();
  ASSERT_TRUE(eventually([&] { return quick.service->is_owner(); }));
  // That it owns and cannot begin is said, with the names of those that block.
  ASSERT_TRUE(eventually([&] { return runtime->delays->delayed() == 1; }));
  ASSERT_TRUE(eventually([&] {
    return log_->contains("not started after 1 s: a callback of mutex [quick], contender [a]");
  }));
  EXPECT_TRUE(log_->contains("currently running: a callback of mutex [blocking-")) << log_->text();
  EXPECT_TRUE(log_->contains("raise RuntimeOptions::max_callback_threads"));

  quick.service->stop();
  EXPECT_EQ(quick.contender.acquisitions(), 1U);
  EXPECT_EQ(quick.contender.releases(), 1U);
  EXPECT_EQ(log_->count(LogLevel::error), 0U) << log_->text();
  Party next{factory, "quick", "b"};
  next.service->start();
  EXPECT_TRUE(eventually([&] { return next.service->is_owner(); })) << "it has been released";
  next.service->stop();
  EXPECT_EQ(blocked_, 2);
  go_on_.open();
}

TEST_F(Isolation, AStopCallbackThatBlocksDelaysNoOtherLossSignal) {
  ContentionOptions options;
  options.ttl = 300ms;
  options.transition = 3s;
  options.margin = 2'500ms;  // a busy machine may be late by so much
  const auto runtime = this->runtime();
  const auto line_of_one = std::make_shared<FaultStore>(store_);
  const auto line_of_other = std::make_shared<FaultStore>(store_);
  LeaseServiceFactory factory_of_one{line_of_one, runtime, options};
  LeaseServiceFactory factory_of_other{line_of_other, runtime, options};
  Party one{factory_of_one, "one", "a"};
  Party other{factory_of_other, "other", "a"};
  one.service->start();
  other.service->start();
  ASSERT_TRUE(one.acquires());
  ASSERT_TRUE(other.acquires());
  Gate fired;
  {
    const std::stop_callback on_loss{one.service->lost(), [&] {
                                       fired.open();
                                       EXPECT_TRUE(go_on_.opens());
                                     }};
    const std::stop_token other_lost = other.service->lost();
    LeaseServiceFactory factory_of_rival{store_, runtime, options};
    std::promise<bool> known;
    Party rival{factory_of_rival, "other", "b",
                RecordingHooks{.on_acquired = [&](const MutexState&) {
                  known.set_value(other_lost.stop_requested());
                }}};
    rival.service->start();
    line_of_one->cut();
    ASSERT_TRUE(fired.opens());
    line_of_other->cut();
    EXPECT_TRUE(known.get_future().get()) << "the next one owned before the signal came";
    EXPECT_TRUE(other.contender.wait_for_releases(1, patience));
    EXPECT_EQ(one.contender.releases(), 0U) << "its own comes when all its stop callbacks are over";
    go_on_.open();
    EXPECT_TRUE(one.contender.wait_for_releases(1, patience));
  }
  line_of_one->close();
  line_of_other->close();
}

TEST_F(Isolation, AnExecuteThatBlocksHoldsUpNoTimerStoreOrOtherService) {
  class Blocking final : public Executor {
   public:
    explicit Blocking(Gate& go_on) : go_on_{go_on} {}
    void execute(std::function<void()> task) override {
      entered.open();
      EXPECT_TRUE(go_on_.opens());
      task();
      left.open();
    }
    bool running_in_this_thread() const noexcept override { return false; }
    Gate entered;
    Gate left;

   private:
    Gate& go_on_;
  };
  ContentionOptions options;
  options.ttl = 1s;
  options.transition = 2s;
  LeaseServiceFactory factory{store_, runtime(), options};
  const auto executor = std::make_shared<Blocking>(go_on_);
  Party blocking{factory, "blocking", "a", {}, {.executor = executor}};
  Party quick{factory, "quick", "a"};
  blocking.service->start();
  ASSERT_TRUE(executor->entered.opens());
  quick.service->start();
  ASSERT_TRUE(quick.acquires());
  const std::size_t before = store_->count(testkit::Operation::guard);
  EXPECT_TRUE(eventually([&] { return store_->count(testkit::Operation::guard) >= before + 4; }));
  EXPECT_TRUE(blocking.service->is_owner());
  EXPECT_TRUE(quick.service->is_owner());
  quick.service->stop();
  EXPECT_EQ(quick.contender.releases(), 1U);
  blocking.service->stop();
  EXPECT_EQ(blocking.contender.acquisitions(), 1U);
  EXPECT_EQ(blocking.contender.releases(), 1U);
  go_on_.open();
  EXPECT_TRUE(executor->left.opens()) << "it still looks at what this test has";
}

}  // namespace
}  // namespace simba::engine
