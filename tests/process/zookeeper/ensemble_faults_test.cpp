#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "process/zookeeper/contenders.hpp"
#include "support/ownership/grows.hpp"
#include "support/ownership/lock_holder.hpp"
#include "support/ownership/ownership_ledger.hpp"
#include "support/safety.hpp"

namespace simba::zookeeper::test {
namespace {

using support::eventually;
using support::FaultProxy;
using support::now;
using support::scaled;
using support::within;
using support::ZooKeeperEnsemble;

/// An owner whose server the test chooses, and one that waits, on three servers. With
/// `syncLimit=20` servers believe in each other for longer than sessions last.
class ZooKeeperEnsembleFaults : public ::testing::Test {
 protected:
  static constexpr std::size_t size = ZooKeeperEnsemble::size;

  /// A factory that reaches only this server for the moment, by proxies of its own.
  struct Chooser {
    Chooser(ZooKeeperEnsemble& ensemble, std::size_t index) {
      std::string servers;
      for (std::size_t i = 0; i < size; ++i) {
        proxies.push_back(std::make_unique<FaultProxy>("127.0.0.1", ensemble.node(i).port()));
        if (i != index) proxies.back()->cut();
        servers += fmt::format("{}127.0.0.1:{}", i == 0 ? "" : ",", proxies.back()->port());
      }
      auto options = options_of(servers);
      options.runtime = make_runtime({.log = log});
      factory = make_zookeeper_factory(options);
    }

    /// All servers can be reached from now on.
    void open_all() {
      for (const auto& proxy : proxies) proxy->mend();
    }

    const std::shared_ptr<testkit::CapturingLogger> log =
        std::make_shared<testkit::CapturingLogger>();
    std::vector<std::unique_ptr<FaultProxy>> proxies;
    std::unique_ptr<MutexServiceFactory> factory;
  };

  /// The owner on one server, the waiter on another.
  void set_out(std::size_t of_owner, std::size_t of_waiter) {
    one_ = std::make_unique<Chooser>(ensemble_, of_owner);
    two_ = std::make_unique<Chooser>(ensemble_, of_waiter);
    owner_ = std::make_unique<Contending>(*one_->factory, "m");
    ASSERT_TRUE(owner_->owns());
    waiter_ = std::make_unique<Contending>(*two_->factory, "m");
    ASSERT_TRUE(eventually([&] { return !waiter_->contender.owners().empty(); }));
    one_->open_all();
    two_->open_all();
    token_ = owner_->service->fencing_token();
  }

  std::size_t follower(std::size_t leader, std::size_t nth = 0) const {
    return (leader + 1 + nth) % size;
  }

  /// Looks for two owners at once until `done`; fails where that does not come.
  template <class Done>
  void watch_until(const std::string& what, std::chrono::milliseconds limit, Done done) {
    bool both = false;
    const auto begin = now();
    EXPECT_TRUE(within(limit, [&] {
      // First the one that may follow: who stepped down in between is no second owner.
      const bool waiter_owns = waiter_->service->is_owner();
      both = both || (waiter_owns && owner_->service->is_owner());
      return done();
    })) << what;
    EXPECT_FALSE(both) << support::safety_violation << "two owners: " << what;
    std::cout << what << ": " << std::chrono::ceil<std::chrono::milliseconds>(now() - begin).count()
              << " ms\n";
  }

  bool someone_owns() const { return owner_->service->is_owner() || waiter_->service->is_owner(); }

  /// The owner is the same for longer than a session, and a hand-over works.
  void expect_owner_goes_on() {
    const auto begin = now();
    watch_until("goes on", session_end + 2s, [&] { return now() > begin + session_end; });
    EXPECT_TRUE(owner_->service->is_owner()) << one_->log->text();
    EXPECT_EQ(owner_->service->fencing_token(), token_);
    EXPECT_EQ(owner_->contender.releases(), 0U);
    expect_hand_over();
  }

  void expect_hand_over() {
    auto& first = owner_->service->is_owner() ? *owner_ : *waiter_;
    auto& second = owner_->service->is_owner() ? *waiter_ : *owner_;
    const auto token = first.service->fencing_token();
    first.service->stop();
    EXPECT_TRUE(within(session_end, [&] { return second.service->is_owner(); }));
    EXPECT_TRUE(support::grows(token, second.service->fencing_token()));
    // Not by one that is paused.
    Console console{ensemble_.node(ensemble_.leader()).location()};
    EXPECT_EQ(console.children(node_of("m")).size(), 1U);
  }

  /// Someone owns, the same one or the next, and both can.
  void expect_someone_owns() {
    watch_until("someone owns", 2 * session_end + 1s,
                [&] { return someone_owns() && ensemble_.has_leader(); });
    const auto begin = now();
    watch_until("all is quiet", session_end + 2s, [&] { return now() > begin + session_end; });
    EXPECT_TRUE(someone_owns());
    std::cout << (owner_->contender.releases() == 0 ? "the owner has gone on\n"
                                                    : "the owner had stepped down\n");
    expect_hand_over();
  }

  ZooKeeperEnsemble ensemble_{with_long_tick()};
  const std::size_t leader_ = ensemble_.leader();
  std::unique_ptr<Chooser> one_;
  std::unique_ptr<Chooser> two_;
  std::unique_ptr<Contending> owner_;
  std::unique_ptr<Contending> waiter_;
  FencingToken token_ = 0;
};

TEST_F(ZooKeeperEnsembleFaults, AnOwnerWhoseFollowerDiesGoesOnAtAnotherServer) {
  ASSERT_NO_FATAL_FAILURE(set_out(follower(leader_), leader_));
  ensemble_.node(follower(leader_)).kill();
  EXPECT_TRUE(eventually([&] { return owner_->count<AtRisk>() > 0; }));
  expect_owner_goes_on();
}

TEST_F(ZooKeeperEnsembleFaults, AnOwnerElsewhereDoesNotNoticeThatAFollowerDies) {
  ASSERT_NO_FATAL_FAILURE(set_out(leader_, follower(leader_)));
  ensemble_.node(follower(leader_)).kill();
  expect_owner_goes_on();
  EXPECT_EQ(owner_->count<AtRisk>(), 0U);
}

TEST_F(ZooKeeperEnsembleFaults, AnOwnerWhoseLeaderDiesIsFollowedByOneAtMost) {
  ASSERT_NO_FATAL_FAILURE(set_out(leader_, follower(leader_)));
  ensemble_.node(leader_).kill();
  EXPECT_TRUE(eventually([&] { return owner_->count<AtRisk>() > 0; }));
  expect_someone_owns();
}

TEST_F(ZooKeeperEnsembleFaults, AnOwnerOfAFollowerSurvivesTheLeaderOrIsFollowedByOneAtMost) {
  ASSERT_NO_FATAL_FAILURE(set_out(follower(leader_), follower(leader_, 1)));
  ensemble_.node(leader_).kill();
  expect_someone_owns();
}

TEST_F(ZooKeeperEnsembleFaults, AnOwnerWhoseFollowerIsPausedGoesOnAtAnotherOrIsFollowed) {
  ASSERT_NO_FATAL_FAILURE(set_out(follower(leader_), leader_));
  ensemble_.node(follower(leader_)).pause();
  expect_someone_owns();
  ensemble_.node(follower(leader_)).resume();
}

// The owner's server goes on answering, because it believes in the leader for longer than a session
// lasts. Who took its answers for signs of life would own on.
TEST_F(ZooKeeperEnsembleFaults, AnOwnerWhoseServerHasLostTheOthersUnknowinglyStepsDownInTime) {
  const auto own = follower(leader_);
  ASSERT_NO_FATAL_FAILURE(set_out(own, follower(leader_, 1)));
  ensemble_.node(leader_).pause();
  ensemble_.node(follower(leader_, 1)).pause();
  watch_until("steps down", short_session, [&] { return !owner_->service->is_owner(); });
  EXPECT_EQ(support::zookeeper_mode(ensemble_.node(own).port()), "follower")
      << "the server knows: the test does not show what it should";
  EXPECT_TRUE(within(1s, [&] { return owner_->contender.releases() >= 1; }));
  ensemble_.node(leader_).resume();
  ensemble_.node(follower(leader_, 1)).resume();
  expect_someone_owns();
}

TEST_F(ZooKeeperEnsembleFaults,
       AnOwnerStepsDownInTimeWhenTheQuorumIsLostAndSomeoneOwnsWhenItIsBack) {
  const auto own = follower(leader_);
  ASSERT_NO_FATAL_FAILURE(set_out(own, own));
  const auto begin = now();
  ensemble_.node(leader_).kill();
  ensemble_.node(follower(leader_, 1)).kill();
  watch_until("steps down", short_session, [&] { return !owner_->service->is_owner(); });
  wait_until_after(begin, session_end + 1s);
  EXPECT_FALSE(someone_owns());
  ensemble_.node(leader_).start();
  ensemble_.node(follower(leader_, 1)).start();
  ASSERT_TRUE(eventually([&] { return ensemble_.has_leader(); }));
  expect_someone_owns();
}

// Five contenders, and a leader that dies again and again.
TEST_F(ZooKeeperEnsembleFaults, LeadersThatDieUnderLoadLetNobodyInTwice) {
  support::OwnershipLedger ledger;
  std::vector<std::unique_ptr<Chooser>> choosers;
  std::vector<std::unique_ptr<support::LockHolder>> holders;
  for (std::size_t i = 0; i < 5; ++i) {
    choosers.push_back(std::make_unique<Chooser>(ensemble_, i % size));
    choosers.back()->open_all();
    holders.push_back(std::make_unique<support::LockHolder>(
        fmt::format("contender {}", i), "m", *choosers.back()->factory, ledger,
        [i]() -> std::chrono::milliseconds { return i % 2 == 0 ? 20ms : 1'000ms; }));
  }
  for (int round = 0; round < 4; ++round) {
    const auto begin = now();
    ASSERT_TRUE(eventually([&] { return ledger.begun_since(begin) > 5; }));
    const auto dies = ensemble_.leader();
    ensemble_.node(dies).kill();
    const auto killed = now();
    EXPECT_TRUE(within(2 * session_end + 1s, [&] { return ledger.begun_since(killed) > 2; }));
    ensemble_.node(dies).start();
    ASSERT_TRUE(eventually([&] { return ensemble_.all_serve(); }));
  }
  holders.clear();
  EXPECT_EQ(ledger.contradictions(), "");
  std::cout << ledger.size() << " ownerships\n";
}

TEST(ZooKeeperReadOnlyServer, IsNotUsed) {
  auto arguments = with_long_tick();
  arguments.emplace_back("-Dreadonlymode.enabled=true");
  ZooKeeperEnsemble ensemble{arguments};
  ensemble.node(1).kill();
  ensemble.node(2).kill();
  const auto port = ensemble.node(0).port();
  ASSERT_TRUE(eventually([&] { return support::zookeeper_mode(port) == "read-only"; }));
  auto options = options_of(port);
  options.connection_timeout = scaled(1s);
  const auto log = std::make_shared<testkit::CapturingLogger>();
  options.runtime = make_runtime({.log = log});
  const auto factory = make_zookeeper_factory(options);
  const Contending contending{*factory, "m"};
  EXPECT_TRUE(eventually([&] { return log->contains("have a quorum"); }));
  EXPECT_TRUE(eventually([&] { return contending.count<AcquireFailed>() > 0; }));
  EXPECT_EQ(contending.contender.acquisitions(), 0U);
  ensemble.node(1).start();
  EXPECT_TRUE(contending.owns());
}

}  // namespace
}  // namespace simba::zookeeper::test
