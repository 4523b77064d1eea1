// Why there are never two owners, and why nobody waits for ever, whatever happens to connections,
// processes, servers and nodes: the real store above simulated sessions with three simulated
// servers, in virtual time.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/rules/calm_world.hpp"
#include "unit/rules/seeds.hpp"
#include "unit/zookeeper/rules/ensemble.hpp"
#include "unit/zookeeper/rules/network.hpp"
#include "unit/zookeeper/rules/play.hpp"
#include "unit/zookeeper/rules/process.hpp"
#include "unit/zookeeper/rules/sim_client.hpp"
#include "unit/zookeeper/rules/tree.hpp"

namespace simba::zookeeper::rules {
namespace {

using namespace std::chrono_literals;
using simba::rules::CalmWorld;

TEST(ZooKeeperRules, TroubleMakesNeitherTwoOwnersNorAMutexThatNobodyGets) {
  simba::rules::expect_sound([](std::uint64_t seed) { return play(seed, Mutation::none); });
}

// ---- the servers that are simulated -------------------------------------------------------------

/// Three servers and one client of them.
class SimulatedZooKeeper : public CalmWorld {
 protected:
  SimulatedZooKeeper() {
    host->name = "client";
    host->actor = std::make_shared<Actor>(world);
    client = std::static_pointer_cast<SimClient>(connector.connect([this](const auto& event) {
      if (const auto* node = std::get_if<NodeEvent>(&event)) events.push_back(*node);
      expired = expired || std::holds_alternative<Expired>(event);
    }));
    go_on(300ms);
    client->create("/m", "", NodeKind::container, [](auto...) {});
    go_on(10ms);
  }
  ~SimulatedZooKeeper() override { world.clear(); }
  SimulatedZooKeeper(const SimulatedZooKeeper&) = delete;
  SimulatedZooKeeper& operator=(const SimulatedZooKeeper&) = delete;

  std::string create(const std::string& path) {
    std::string made;
    client->create(path, "data", NodeKind::ephemeral_sequential,
                   [&](Code, const std::string& name, const NodeStat&) { made = name; });
    go_on(10ms);
    return made;
  }

  Ensemble ensemble{world, {.sync_limit = 10}, Mutation::none};
  Network network{world, ensemble, Mutation::none};
  std::shared_ptr<Host> host = std::make_shared<Host>();
  SimConnector connector{network, host};
  std::shared_ptr<SimClient> client;
  std::vector<NodeEvent> events;
  bool expired = false;
};

TEST_F(SimulatedZooKeeper, NumbersTheChildrenOfANodeInTheirOrder) {
  EXPECT_EQ(create("/m/a-"), "/m/a-0000000000");
  EXPECT_EQ(create("/m/b-"), "/m/b-0000000001");
  client->remove("/m/a-0000000000", [](Code) {});
  EXPECT_EQ(create("/m/a-"), "/m/a-0000000002");
}

TEST_F(SimulatedZooKeeper, TellsOnceOfANodeThatIsRemoved) {
  const std::string path = create("/m/a-");
  client->get(path, Watching::yes, [](auto...) {});
  client->remove(path, [](Code) {});
  go_on(10ms);
  client->create("/m/a", "", NodeKind::persistent, [](auto...) {});
  go_on(10ms);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.front().kind, NodeEvent::Kind::removed);
  EXPECT_EQ(events.front().path, path);
}

TEST_F(SimulatedZooKeeper, TellsAfterTheReconnectWhatHappenedMeanwhile) {
  const std::string path = create("/m/a-");
  client->get(path, Watching::yes, [](auto...) {});
  go_on(10ms);
  network.break_one(*host);
  ensemble.remove_by_hand(path);
  go_on(500ms);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.front().path, path);
  EXPECT_FALSE(expired);
}

TEST_F(SimulatedZooKeeper, KeepsASessionThatIsIdleAndEndsOneThatIsSilent) {
  const std::string path = create("/m/a-");
  go_on(10s);
  EXPECT_NE(ensemble.truth().find(path), nullptr);
  host->actor->pause_until(world.now() + 10s);
  go_on(700ms);  // it has last been heard of at most 400 ms ago, of 1.2 s
  EXPECT_NE(ensemble.truth().find(path), nullptr);
  go_on(1s);
  EXPECT_EQ(ensemble.truth().find(path), nullptr);
  go_on(10s);
  EXPECT_TRUE(expired);
}

TEST_F(SimulatedZooKeeper, EndsASessionWhoseServerIsCutOffThoughThatStillAnswersReads) {
  const std::string path = create("/m/a-");
  const auto at = [&](std::size_t server) { return !ensemble.server(server).visitors().empty(); };
  while (!client->connected() || at(ensemble.leader().value())) {
    network.break_one(*host);
    go_on(300ms);
  }
  for (std::size_t i = 0; i < Ensemble::size; ++i) {
    if (at(i)) ensemble.cut_off(i, world.now() + 10s);
  }
  int reads = 0;
  bool synced = false;
  for (int i = 0; i < 32; ++i) {
    client->get(path, Watching::no, [&](Code code, auto...) { reads += code == Code::ok ? 1 : 0; });
    go_on(50ms);
  }
  client->sync([&](Code) { synced = true; });
  go_on(50ms);
  EXPECT_EQ(reads, 32);
  EXPECT_FALSE(synced) << "it takes the leader";
  EXPECT_EQ(ensemble.truth().find(path), nullptr);
  go_on(2s);
  EXPECT_TRUE(expired);
}

// ---- a few turns in calm ------------------------------------------------------------------------

class ZooKeeperRulesInCalm : public CalmWorld {
 protected:
  ZooKeeperRulesInCalm() {
    for (const auto& process : {a, b}) {
      start(*process);
      go_on(500ms);
    }
  }
  ~ZooKeeperRulesInCalm() override { end(a, b, c); }
  ZooKeeperRulesInCalm(const ZooKeeperRulesInCalm&) = delete;
  ZooKeeperRulesInCalm& operator=(const ZooKeeperRulesInCalm&) = delete;

  std::shared_ptr<Process> make(const std::string& name) {
    auto process = std::make_shared<ZooKeeperProcess>(
        network, name, 0, OnDisconnect::keep_while_session_lasts, ensemble.config().timeout);
    process->add("m", name, AfterLoss::contend_again);
    return process;
  }

  Ensemble ensemble{world, {}, Mutation::none};
  Network network{world, ensemble, Mutation::none};
  std::shared_ptr<Process> a = make("a");
  std::shared_ptr<Process> b = make("b");
  std::shared_ptr<Process> c = make("c");
};

TEST_F(ZooKeeperRulesInCalm, AReleaseMakesTheNextInLineTheOwner) {
  EXPECT_TRUE(service_of(*a).is_owner());
  stop(*a);
  go_on(20ms);
  EXPECT_TRUE(service_of(*b).is_owner());
}

TEST_F(ZooKeeperRulesInCalm, ARequestThatCrossesAGrantDoesNotEndIt) {
  expect_grant_outlasts_crossing_request(*a, *b);
}

TEST_F(ZooKeeperRulesInCalm, AnOwnerWhoseNodeIsRemovedByHandIsToldAndQueuesUpAnew) {
  ensemble.remove_by_hand("/simba/m/" + ensemble.truth().children("/simba/m").front());
  ensemble.remove_by_hand("/simba/m/" + ensemble.truth().children("/simba/m").front());
  go_on(100ms);
  EXPECT_EQ(ensemble.truth().children("/simba/m").size(), 2U);
  EXPECT_NE(service_of(*a).is_owner(), service_of(*b).is_owner());
}

TEST_F(ZooKeeperRulesInCalm, AnOwnerKeepsTheMutexWhenTheLeaderOfTheServersDies) {
  const FencingToken token = service_of(*a).fencing_token();
  ensemble.crash(ensemble.leader().value(), world.now() + 300ms);
  go_on(2s);
  EXPECT_TRUE(service_of(*a).is_owner());
  EXPECT_EQ(service_of(*a).fencing_token(), token);
}

// What it asked before it was stopped is answered together with what it asks now, and when it asks
// for something else just then.
TEST_F(ZooKeeperRulesInCalm, AnAnswerToAFormerLifeDoesNotCostTheNodeOfTheLatter) {
  stop(*a);
  stop(*b);
  bool founded = true;
  world.after_each = [&] {
    if (!service_of(*c).is_owner()) return;
    const FencingToken token = service_of(*c).fencing_token();
    const auto names = ensemble.truth().children("/simba/m");
    const auto is_its = [&](const std::string& name) {
      const auto zxid = ensemble.truth().find("/simba/m/" + name)->stat.created_zxid;
      return static_cast<FencingToken>(zxid) == token;
    };
    founded = founded && std::any_of(names.begin(), names.end(), is_its);
  };
  for (int round = 0; round < 60 && founded; ++round) {
    for (const std::size_t server : {0U, 1U}) {
      ensemble.crash(server, world.now() + 50ms + round * 4ms);
    }
    start(*c);
    go_on(5ms);
    stop(*c);
    go_on(5ms);
    start(*c);
    go_on(2s);
    EXPECT_TRUE(service_of(*c).is_owner());
    stop(*c);
    go_on(1s);
    c = make("c");
  }
  world.after_each = {};
  EXPECT_TRUE(founded) << world.story();
}

// ---- broken rules -------------------------------------------------------------------------------

// That broken rules are found need not be shown twice: a sanitizer makes it too slow.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

using simba::rules::Harm;
using Broken = simba::rules::BrokenRule<Mutation>;

constexpr std::array broken_zookeeper_rules{
    Broken{Mutation::sync_stays_at_follower, Harm::safety, "sync_stays_at_follower"},
    Broken{Mutation::sync_stays_at_follower, Harm::liveness, "sync_stays_at_follower"},
    Broken{Mutation::touches_stay_at_follower, Harm::safety, "touches_stay_at_follower"},
    Broken{Mutation::sessions_end_early, Harm::safety, "sessions_end_early"},
    Broken{Mutation::timeout_overstated, Harm::safety, "timeout_overstated"},
    Broken{Mutation::events_dropped, Harm::safety, "events_dropped"},
    Broken{Mutation::events_dropped, Harm::liveness, "events_dropped"},
    Broken{Mutation::removed_nodes_listed, Harm::liveness, "removed_nodes_listed"},
    Broken{Mutation::dead_sessions_keep_nodes, Harm::liveness, "dead_sessions_keep_nodes"},
    Broken{Mutation::late_writes_count, Harm::liveness, "late_writes_count"},
    Broken{Mutation::sequence_starts_again, Harm::safety, "sequence_starts_again"},
    Broken{Mutation::old_servers_take_clients, Harm::liveness, "old_servers_take_clients"},
};

class BrokenZooKeeperRules : public testing::TestWithParam<Broken> {};

TEST_P(BrokenZooKeeperRules, AreFound) { simba::rules::expect_found(GetParam(), play); }

INSTANTIATE_TEST_SUITE_P(All, BrokenZooKeeperRules, testing::ValuesIn(broken_zookeeper_rules),
                         [](const auto& rule) { return rule.param.test_name(); });

#endif

}  // namespace
}  // namespace simba::zookeeper::rules
