#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "process/zookeeper/contenders.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/ownership/grows.hpp"
#include "support/safety.hpp"

namespace simba::zookeeper::test {
namespace {

using support::eventually;
using support::now;
using support::scaled;
using support::within;
using support::ZooKeeperServer;
using testkit::ServedTime;

/// What is told at once is told within this time.
constexpr auto promptly = 500ms;

/// Connections and sessions that fail, on one server, which no test harms: `mine` reaches it by a
/// proxy, and each test has mutexes of its own.
class ZooKeeperFaults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server = std::make_unique<ZooKeeperServer>(with_long_tick()); }
  static void TearDownTestSuite() { server.reset(); }

  std::unique_ptr<MutexServiceFactory> direct() {
    auto options = options_of(server->port());
    options.runtime = make_runtime({.log = std::make_shared<testkit::CapturingLogger>()});
    return make_zookeeper_factory(options);
  }

  /// How many contenders have a node.
  std::size_t nodes() { return console_.children(node_of(mutex_)).size(); }

  /// Goes on as the owner that it was, and for longer than a session that nobody has renewed.
  void expect_owns_on(const Contending& owner, FencingToken token, LocalTime since) {
    wait_until_after(since, session_end + scaled(1s));
    EXPECT_TRUE(owner.service->is_owner());
    EXPECT_EQ(owner.service->fencing_token(), token);
    EXPECT_EQ(owner.contender.releases(), 0U);
    EXPECT_EQ(nodes(), 1U);
  }

  static std::unique_ptr<const ZooKeeperServer> server;
  const std::string mutex_ = unique("m");
  Console console_{server->location()};
};

std::unique_ptr<const ZooKeeperServer> ZooKeeperFaults::server;

TEST_F(ZooKeeperFaults, AConnectionThatIsCutAndBackPutsTheOwnerAtRiskAndItOwnsOn) {
  Proxied mine{server->port()};
  const Contending owner{*mine.factory, mutex_};
  ASSERT_TRUE(owner.owns());
  const auto token = owner.service->fencing_token();
  for (std::size_t round = 1; round <= 3; ++round) {
    mine.proxy.reset_all();
    EXPECT_TRUE(within(promptly, [&] { return owner.count<AtRisk>() == round; })) << round;
    ASSERT_TRUE(eventually([&] { return mine.log->count("the session continues") == round; }));
    wait_until_after(now(), short_session / 5);  // it renews: who is at risk is not told again
  }
  expect_owns_on(owner, token, now());
}

TEST_F(ZooKeeperFaults, AnOwnerThatIsToStepDownDoesSoAtOnceAndOwnsAgainWithAGreaterToken) {
  auto options = options_of(server->port());
  options.on_disconnect = OnDisconnect::step_down;
  Proxied mine{server->port(), options};
  const Contending owner{*mine.factory, mutex_};
  ASSERT_TRUE(owner.owns());
  const auto token = owner.service->fencing_token();
  const auto old = console_.children(node_of(mutex_));

  mine.proxy.cut();
  EXPECT_TRUE(within(promptly, [&] { return !owner.service->is_owner(); }));
  EXPECT_TRUE(within(promptly, [&] { return owner.contender.releases() == 1; }));
  EXPECT_EQ(owner.losses(LossReason::revoked), 1U);
  EXPECT_EQ(console_.children(node_of(mutex_)), old) << "its session is over: the test is too slow";
  mine.proxy.mend();

  ASSERT_TRUE(owner.owns(2));
  EXPECT_TRUE(support::grows(token, owner.service->fencing_token()));
  ASSERT_TRUE(eventually([&] { return nodes() == 1; }));
  EXPECT_NE(console_.children(node_of(mutex_)), old);
}

TEST_F(ZooKeeperFaults, ABlackHoleForLessThanTheSessionChangesNothing) {
  Proxied mine{server->port()};
  const Contending owner{*mine.factory, mutex_};
  ASSERT_TRUE(owner.owns());
  const auto token = owner.service->fencing_token();

  mine.proxy.black_hole();
  const auto begin = now();
  wait_until_after(begin, short_session / 3);
  mine.proxy.mend();

  expect_owns_on(owner, token, begin);
}

TEST_F(ZooKeeperFaults, AnOwnerInABlackHoleStepsDownBeforeAnotherOwnsAndContendsAnew) {
  Proxied mine{server->port()};
  const auto other = direct();
  Contending owner{*mine.factory, mutex_};
  ASSERT_TRUE(owner.owns());
  const auto token = owner.service->fencing_token();
  Contending waiter{*other, mutex_};
  ASSERT_TRUE(eventually([&] { return nodes() == 2; }));

  mine.proxy.black_hole();
  const auto begin = now();
  // Whoever saw the owner own after the other one began would fail here.
  bool both = false;
  ASSERT_TRUE(within(session_end + 1s, [&] {
    const bool waiter_owns = waiter.service->is_owner();
    both = both || (waiter_owns && owner.service->is_owner());
    return waiter_owns;
  }));
  EXPECT_FALSE(both) << support::safety_violation << "two owners";
  EXPECT_GT(now() - begin, short_session / 2) << "the session has not had its time";
  EXPECT_TRUE(within(promptly, [&] { return owner.contender.releases() == 1; }));
  EXPECT_EQ(owner.losses(LossReason::expired), 1U);
  EXPECT_TRUE(support::grows(token, waiter.service->fencing_token()));

  mine.proxy.mend();
  ASSERT_TRUE(eventually([&] { return nodes() == 2; })) << "it does not contend anew";
  EXPECT_TRUE(waiter.service->is_owner());
  const auto newer = waiter.service->fencing_token();
  waiter.service->stop();
  ASSERT_TRUE(owner.owns(2));
  EXPECT_TRUE(support::grows(newer, owner.service->fencing_token()));
  owner.service->stop();
  EXPECT_EQ(nodes(), 0U);
}

TEST_F(ZooKeeperFaults, AnOwnerThatIsCutOffForGoodStepsDownBeforeAnotherOwns) {
  Proxied mine{server->port()};
  const auto other = direct();
  const Contending owner{*mine.factory, mutex_};
  ASSERT_TRUE(owner.owns());
  const Contending waiter{*other, mutex_};
  ASSERT_TRUE(eventually([&] { return nodes() == 2; }));

  mine.proxy.cut();
  bool both = false;
  ASSERT_TRUE(within(session_end + 1s, [&] {
    const bool waiter_owns = waiter.service->is_owner();
    both = both || (waiter_owns && owner.service->is_owner());
    return waiter_owns;
  }));
  EXPECT_FALSE(both) << support::safety_violation << "two owners";
  EXPECT_EQ(owner.count<AtRisk>(), 1U);
  mine.proxy.mend();
  EXPECT_TRUE(eventually([&] { return nodes() == 2; })) << "it does not contend anew";
}

TEST_F(ZooKeeperFaults, ASessionThatIsEndedByForceIsRevokedAndANewOneContendsAnew) {
  Proxied mine{server->port()};
  const Contending owner{*mine.factory, mutex_};
  ASSERT_TRUE(owner.owns());
  const auto token = owner.service->fencing_token();
  const auto node = console_.node(node_of(mutex_) + "/" + console_.children(node_of(mutex_)).at(0));
  ASSERT_TRUE(node);

  mine.proxy.black_hole();  // else it would fight for its session
  console_.end_session(node->owner);
  EXPECT_EQ(nodes(), 0U) << "the session lives on: the test does not show what it should";
  mine.proxy.mend();
  EXPECT_TRUE(owner.contender.wait_for_releases(1, short_session)) << mine.log->text();
  ASSERT_TRUE(owner.owns(2)) << mine.log->text();

  EXPECT_EQ(owner.losses(LossReason::revoked) + owner.losses(LossReason::expired), 1U);
  EXPECT_TRUE(support::grows(token, owner.service->fencing_token()));
  EXPECT_EQ(nodes(), 1U);
  const auto fresh =
      console_.node(node_of(mutex_) + "/" + console_.children(node_of(mutex_)).at(0));
  ASSERT_TRUE(fresh);
  EXPECT_NE(fresh->owner, node->owner);
  EXPECT_TRUE(eventually([&] { return mine.log->contains("ended"); })) << mine.log->text();
}

// The delay holds the answer back while the node is already there, so it is surely lost with the
// connection. Who did not look for the uuid would make a second node, with a higher sequence, and
// wait behind its own first one.
TEST_F(ZooKeeperFaults, AnAnswerToACreationThatIsLostLeavesOneNode) {
  Proxied mine{server->port()};
  const Contending first{*mine.factory, mutex_};
  ASSERT_TRUE(first.owns());
  for (int round = 0; round < 5; ++round) {
    const auto mutex = unique("lost");
    console_.create(node_of(mutex), "");
    mine.proxy.delay(scaled(200ms));
    const Contending owner{*mine.factory, mutex};
    ASSERT_TRUE(eventually([&] { return !console_.children(node_of(mutex)).empty(); }));
    ASSERT_EQ(owner.contender.acquisitions(), 0U) << "the answer was not lost";
    const auto name = console_.children(node_of(mutex)).at(0);
    mine.proxy.reset_all();
    mine.proxy.mend();

    ASSERT_TRUE(owner.owns());
    EXPECT_EQ(console_.children(node_of(mutex)), std::vector{name});
    const auto begin = now();
    wait_until_after(begin, short_session / 5);  // in which two signs of life mend what is broken
    EXPECT_EQ(console_.children(node_of(mutex)), std::vector{name});
  }
  EXPECT_EQ(first.contender.releases(), 0U);
}

// As above, but the contender leaves before it knows that it has a node.
TEST_F(ZooKeeperFaults, ANodeWhoseCreationWasNotAnsweredIsRemovedWhenItsContenderHasStopped) {
  Proxied mine{server->port()};
  const Contending first{*mine.factory, mutex_};
  ASSERT_TRUE(first.owns());
  const auto mutex = unique("lost");
  console_.create(node_of(mutex), "");
  mine.proxy.delay(scaled(200ms));
  const Contending contending{*mine.factory, mutex};
  ASSERT_TRUE(eventually([&] { return !console_.children(node_of(mutex)).empty(); }));
  mine.proxy.cut();
  contending.service->stop();
  EXPECT_EQ(contending.contender.acquisitions(), 0U);
  EXPECT_EQ(console_.children(node_of(mutex)).size(), 1U);

  mine.proxy.mend();
  EXPECT_TRUE(within(short_session, [&] { return console_.children(node_of(mutex)).empty(); }));
  EXPECT_EQ(first.contender.releases(), 0U) << "the session is over, which removes every node";
}

TEST_F(ZooKeeperFaults, AStopWhileCutOffIsBoundedAndItsNodeIsRemovedAfterwards) {
  Proxied mine{server->port()};
  const Contending stays{*mine.factory, unique("stays")};
  const Contending stops{*mine.factory, mutex_};
  ASSERT_TRUE(stays.owns() && stops.owns());
  const auto bound = simba::worst_cases(ContentionPlan{contention_of(options_of(1))}).stop;

  mine.proxy.cut();
  EXPECT_LT(ServedTime::taken_by([&] { stops.service->stop(); }), bound + scaled(promptly));
  EXPECT_EQ(stops.contender.releases(), 1U);
  EXPECT_EQ(nodes(), 1U);

  mine.proxy.mend();
  EXPECT_TRUE(within(short_session, [&] { return nodes() == 0; }));
  EXPECT_TRUE(stays.service->is_owner()) << "the session is over, which removes every node";
  EXPECT_EQ(stays.contender.releases(), 0U);
}

TEST_F(ZooKeeperFaults, AStopInABlackHoleIsBoundedAndSoIsTheEndOfTheFactory) {
  Proxied mine{server->port()};
  const auto bound = simba::worst_cases(ContentionPlan{contention_of(options_of(1))}).stop;
  {
    const Contending owner{*mine.factory, mutex_};
    const Contending waiter{*mine.factory, mutex_};
    ASSERT_TRUE(eventually([&] { return nodes() == 2; }));
    mine.proxy.black_hole();
    for (const auto* each : {&owner, &waiter}) {
      EXPECT_LT(ServedTime::taken_by([&] { each->service->stop(); }), bound + scaled(promptly));
      EXPECT_EQ(each->contender.releases(), each->contender.acquisitions());
    }
  }
  EXPECT_LT(ServedTime::taken_by([&] { mine.factory.reset(); }),
            scaled(options_of(1).connection_timeout + 5s + promptly));
  EXPECT_TRUE(within(session_end + 1s, [&] { return nodes() == 0; }));
}

TEST_F(ZooKeeperFaults, AWaiterThatIsCutOffKeepsItsPlaceAndDoesNotMissItsTurn) {
  Proxied mine{server->port()};
  const auto other = direct();
  const auto third = direct();
  const Contending owner{*other, mutex_};
  ASSERT_TRUE(owner.owns());
  const Contending waiter{*mine.factory, mutex_};
  ASSERT_TRUE(eventually([&] { return nodes() == 2; }));
  const Contending last{*third, mutex_};
  ASSERT_TRUE(eventually([&] { return nodes() == 3; }));

  mine.proxy.cut();
  owner.service->stop();  // the watch of the waiter cannot be served
  mine.proxy.mend();

  EXPECT_TRUE(waiter.contender.wait_for_acquisitions(1, short_session));
  EXPECT_EQ(last.contender.acquisitions(), 0U);
}

}  // namespace
}  // namespace simba::zookeeper::test
