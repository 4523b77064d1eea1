#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/zookeeper/contenders.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "support/ownership/grows.hpp"
#include "support/safety.hpp"

namespace simba::zookeeper::test {
namespace {

using support::eventually;
using support::now;
using support::scaled;
using support::within;
using support::ZooKeeperServer;
using ::testing::ElementsAre;
using testkit::RecordingRetriever;

/// Contenders in line, with sessions that last for longer than any test here.
class ZooKeeperQueue : public ::testing::Test {
 protected:
  std::unique_ptr<MutexServiceFactory> factory() {
    auto options = options_of(support::connect_string(location_));
    options.session_timeout = 60s;
    options.runtime = runtime_;
    return make_zookeeper_factory(options);
  }

  /// Who is in line, as the server knows.
  std::vector<std::string> line() { return console_.line(node_of(mutex_)); }

  /// Waits until so many are in line.
  void wait_for_line(std::size_t length) {
    ASSERT_TRUE(eventually([&] { return console_.children(node_of(mutex_)).size() == length; }))
        << ::testing::PrintToString(line());
  }

  /// One more at the end of the line, in a session of its own, whose service has been told who owns
  /// the mutex: so it has nothing more to ask.
  Contending& add(std::size_t length) {
    factories_.push_back(factory());
    contenders_.push_back(std::make_unique<Contending>(*factories_.back(), mutex_));
    wait_for_line(length);
    auto& added = *contenders_.back();
    EXPECT_TRUE(eventually([&] { return !added.contender.owners().empty(); }));
    return added;
  }

  /// Removes the node of whoever owns the mutex, as an operator would.
  void free_by_hand() {
    ASSERT_TRUE(console_.remove(node_of(mutex_) + "/" + console_.children(node_of(mutex_)).at(0)));
  }

  const support::Location location_ = support::zookeeper_location();
  const std::string mutex_ = unique("queue");
  const std::shared_ptr<testkit::CapturingLogger> log_ =
      std::make_shared<testkit::CapturingLogger>();
  const std::shared_ptr<const Runtime> runtime_ = make_runtime({.log = log_});
  Console console_{location_, 60s};
  std::vector<std::unique_ptr<MutexServiceFactory>> factories_;
  std::vector<std::unique_ptr<Contending>> contenders_;
};

// On a server of its own, since it counts. Were all waiters woken, a hand-over would take some 30
// requests more: each would list the line. With signs of life each 6 s the median has none of them.
class ZooKeeperHandOver : public ZooKeeperQueue {
 protected:
  std::int64_t packets() const {
    // Without that of this question and those of the consoles.
    return support::zookeeper_packets(server_.location()) - ++asked_;
  }

  std::unique_ptr<MutexServiceFactory> own_factory() {
    auto options = options_of(server_.port());
    options.session_timeout = 60s;
    options.runtime = runtime_;
    return make_zookeeper_factory(options);
  }

  ZooKeeperServer server_;
  mutable std::int64_t asked_ = 0;
};

TEST_F(ZooKeeperHandOver, WakesOneWaiterOf32InTheOrderInWhichTheyCame) {
  Console console{server_.location(), 60s};
  for (std::size_t i = 0; i < 33; ++i) {
    factories_.push_back(own_factory());
    contenders_.push_back(std::make_unique<Contending>(*factories_.back(), mutex_));
    ASSERT_TRUE(eventually([&] { return console.children(node_of(mutex_)).size() == i + 1; }));
    ASSERT_TRUE(eventually([&] { return !contenders_.back()->contender.owners().empty(); }));
  }
  std::vector<std::int64_t> taken;
  FencingToken token = contenders_[0]->service->fencing_token();
  for (std::size_t i = 0; i < 32; ++i) {
    const auto before = packets();
    contenders_[i]->service->stop();
    ASSERT_TRUE(contenders_[i + 1]->contender.wait_for_acquisitions(1, scaled(5s))) << i;
    // The watch of the new owner on its own node may still be under way.
    auto last = packets();
    auto since = now();
    ASSERT_TRUE(eventually([&] {
      const auto count = packets();
      if (count != last) since = now();
      last = count;
      return now() > since + 20ms;
    }));
    taken.push_back(last - before);
    EXPECT_TRUE(support::grows(token, contenders_[i + 1]->service->fencing_token()));
    token = contenders_[i + 1]->service->fencing_token();
  }
  for (std::size_t i = 1; i < 33; ++i) EXPECT_EQ(contenders_[i]->contender.acquisitions(), 1U);
  std::sort(taken.begin(), taken.end());
  std::cout << "requests for a hand-over: " << taken.front() << " to " << taken.back()
            << ", median " << taken[16] << '\n';
  EXPECT_LE(taken[16], 4) << "one to remove, one to list, one to watch, and one to spare";
  EXPECT_LE(taken[28], 10);
}

TEST_F(ZooKeeperQueue, AWaiterThatStopsLeavesNoNodeAndTheOneBehindItWaitsOn) {
  auto& owner = add(1);
  ASSERT_TRUE(owner.owns());
  auto& middle = add(2);
  auto& last = add(3);

  middle.service->stop();
  wait_for_line(2);
  EXPECT_THAT(line(), ElementsAre(owner.service->contender_id(), last.service->contender_id()));
  // Who took the end of the one before it for its turn would own by then.
  EXPECT_FALSE(within(500ms, [&] { return last.contender.acquisitions() > 0; }))
      << (owner.service->is_owner() ? support::safety_violation : "") << "two owners";
  EXPECT_EQ(middle.contender.acquisitions() + middle.contender.releases(), 0U);

  owner.service->stop();
  EXPECT_TRUE(last.contender.wait_for_acquisitions(1, scaled(2s)))
      << "it does not watch the one that is before it now";
  last.service->stop();
  EXPECT_THAT(line(), ElementsAre());
}

TEST_F(ZooKeeperQueue, AnOwnerWhoseNodeIsRemovedStepsDownAndQueuesUpAnew) {
  auto& owner = add(1);
  ASSERT_TRUE(owner.owns());
  const auto token = owner.service->fencing_token();
  auto& next = add(2);

  ASSERT_NO_FATAL_FAILURE(free_by_hand());
  EXPECT_TRUE(owner.contender.wait_for_releases(1, scaled(2s)));
  EXPECT_EQ(owner.losses(LossReason::revoked), 1U);
  EXPECT_TRUE(next.contender.wait_for_acquisitions(1, scaled(2s)));
  EXPECT_TRUE(support::grows(token, next.service->fencing_token()));
  wait_for_line(2);
  EXPECT_THAT(line(), ElementsAre(next.service->contender_id(), owner.service->contender_id()));

  next.service->stop();
  EXPECT_TRUE(owner.contender.wait_for_acquisitions(2, scaled(2s)));
  EXPECT_TRUE(support::grows(next.service->fencing_token(), owner.service->fencing_token()));
}

TEST_F(ZooKeeperQueue, AWaiterWhoseNodeIsRemovedQueuesUpAnewAndLosesNothing) {
  auto& owner = add(1);
  ASSERT_TRUE(owner.owns());
  auto& waiter = add(2);
  auto& last = add(3);
  ASSERT_TRUE(console_.remove(node_of(mutex_) + "/" + console_.children(node_of(mutex_)).at(1)));

  owner.service->stop();
  ASSERT_TRUE(last.contender.wait_for_acquisitions(1, scaled(2s)));
  last.service->stop();
  // Nobody watches a waiter's own node; it looks again once in its session at the latest.
  EXPECT_TRUE(waiter.contender.wait_for_acquisitions(1, scaled(90s)));
  EXPECT_EQ(waiter.contender.releases(), 0U);
}

TEST_F(ZooKeeperQueue, ObserversAndFollowersSeeWhoOwns) {
  auto& owner = add(1);
  ASSERT_TRUE(owner.owns());
  auto& follower = add(2);
  const auto third = factory();
  RecordingRetriever retriever{mutex_};
  const auto observer = third->create_mutex_retrieval_service(retriever);
  observer->start();

  EXPECT_TRUE(retriever.wait_for_owner(owner.service->contender_id(), scaled(5s)));
  EXPECT_TRUE(eventually(
      [&] { return follower.service->after_owner().owner_id() == owner.service->contender_id(); }));
  EXPECT_EQ(observer->after_owner().fencing_token(), owner.service->fencing_token());
  const auto node = console_.node(node_of(mutex_) + "/" + console_.children(node_of(mutex_)).at(0));
  ASSERT_TRUE(node);
  const StoreTime queued{std::chrono::milliseconds{node->created_at}};
  EXPECT_EQ(owner.service->after_owner().acquired_at(), queued);
  EXPECT_EQ(observer->after_owner().acquired_at(), queued);
  EXPECT_GT(owner.service->after_owner().local_lease().transition_at, support::now());
  EXPECT_EQ(follower.service->after_owner().fencing_token(), owner.service->fencing_token());
  EXPECT_TRUE(observer->has_owner());

  owner.service->stop();
  EXPECT_TRUE(retriever.wait_for_owner(follower.service->contender_id(), scaled(2s)));
  EXPECT_TRUE(follower.contender.wait_for_acquisitions(1, scaled(2s)));
  EXPECT_EQ(observer->after_owner().fencing_token(), follower.service->fencing_token());
  follower.service->stop();
  EXPECT_TRUE(retriever.wait_for_owner("", scaled(2s)));
  EXPECT_FALSE(observer->has_owner());
  observer->stop();
}

TEST_F(ZooKeeperQueue, OneIdInTwoSessionsMakesNoTwoOwners) {
  const auto one = factory();
  const auto two = factory();
  const Contending owner{*one, mutex_, "twin"};
  ASSERT_TRUE(owner.owns());
  const Contending twin{*two, mutex_, "twin"};
  EXPECT_TRUE(eventually([&] { return log_->contains("held under this contender id [twin]"); }))
      << log_->text();
  // Whoever took the node of the other for its own would own by then.
  EXPECT_FALSE(within(1s, [&] { return twin.contender.acquisitions() > 0; }))
      << (owner.service->is_owner() ? support::safety_violation : "") << "two owners";
  EXPECT_FALSE(twin.service->is_owner());
  EXPECT_TRUE(owner.service->is_owner());
  EXPECT_EQ(owner.contender.releases(), 0U);

  owner.service->stop();
  EXPECT_TRUE(twin.contender.wait_for_acquisitions(1, scaled(20s)));
  EXPECT_TRUE(support::grows(owner.service->fencing_token(), twin.service->fencing_token()));
}

TEST_F(ZooKeeperQueue, TwoContendersOfOneFactoryTakeTurns) {
  const auto one = factory();
  const Contending first{*one, mutex_};
  ASSERT_TRUE(first.owns());
  const Contending second{*one, mutex_};
  wait_for_line(2);
  EXPECT_FALSE(within(200ms, [&] { return second.contender.acquisitions() > 0; }))
      << (first.service->is_owner() ? support::safety_violation : "") << "two owners";
  first.service->stop();
  EXPECT_TRUE(second.contender.wait_for_acquisitions(1, scaled(2s)));
}

std::size_t threads() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator{"/proc/self/task"},
                    std::filesystem::directory_iterator{}));
}

TEST(ZooKeeperMutexes, AThousandHeldInOneSessionTakeOneConnectionAndFewThreads) {
  const ZooKeeperServer server;
  Console console{server.location()};
  const auto connections = support::zookeeper_connections(server.location()).size();
  const auto before = threads();
  auto options = options_of(server.port());
  options.session_timeout = 30s;
  const auto factory = make_zookeeper_factory(options);
  std::vector<std::unique_ptr<Contending>> all;
  for (int i = 0; i < 1'000; ++i) {
    all.push_back(std::make_unique<Contending>(*factory, fmt::format("m{}", i)));
  }
  for (const auto& each : all) ASSERT_TRUE(each->owns());

  EXPECT_EQ(support::zookeeper_connections(server.location()).size(), connections + 1);
  std::cout << "threads: " << threads() - before << '\n';
  // One for timers, two for callbacks, one for loss signals, two of the library, a passing one.
  EXPECT_TRUE(eventually([&] { return threads() - before <= 7U; })) << threads() - before;
  for (const auto& each : all) EXPECT_TRUE(each->service->is_owner());
  for (const auto& each : all) each->service->stop();
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(console.children(node_of(fmt::format("m{}", i))).empty()) << i;
  }
}

}  // namespace
}  // namespace simba::zookeeper::test
