#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "process/redis/contenders.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/jvm/jvm_contender.hpp"
#include "support/ownership/grows.hpp"
#include "support/safety.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {
namespace {

using support::eventually;
using support::now;
using support::RedisClusterServers;
using support::scaled;
using testkit::RecordingContender;
using testkit::RecordingRetriever;
using testkit::ServedTime;

void let_pass(std::chrono::milliseconds span) {
  const auto begin = now();
  EXPECT_TRUE(eventually([&] { return now() > begin + span; }));
}

/// A cluster that keeps its data, and one mutex whose slot moves.
class RedisClusterMoves : public ::testing::Test {
 protected:
  RedisClusterMoves() {
    options_ = support::redis_options(servers_.location(), short_contention());
  }

  /// Begins the load: two contenders here, two in another process.
  void contend() {
    contenders_.add_process("other process", options_);
    contenders_.add(options_);
    contenders_.add(options_);
    contenders_.expect_all_take_part();
  }

  void end() {
    contenders_.end();
    EXPECT_EQ(contenders_.log().count(servers_.location().password), 0U);
  }

  std::size_t other_node() { return (servers_.node_of(key_) + 1) % RedisClusterServers::size; }

  /// Moves the slot as `redis-cli --cluster reshard` does, but one key at a time, in this order
  /// where it is there, and stays for a while after each step.
  void move_key_by_key(const std::vector<std::string>& suffixes, std::chrono::milliseconds stay) {
    const auto to = other_node();
    Console source{servers_.node(servers_.node_of(key_)).location()};
    Console target{servers_.node(to).location()};
    const auto slot = target.value({"CLUSTER", "KEYSLOT", key_});
    const auto target_id = target.value({"CLUSTER", "MYID"});
    target.ask({"CLUSTER", "SETSLOT", slot, "IMPORTING", source.value({"CLUSTER", "MYID"})});
    let_pass(stay);
    source.ask({"CLUSTER", "SETSLOT", slot, "MIGRATING", target_id});
    let_pass(stay);
    const auto port = std::to_string(servers_.node(to).port());
    const auto move = [&](const std::string& key) {
      source.ask({"MIGRATE", "127.0.0.1", port, key, "0", "5000", "AUTH2", "admin",
                  servers_.location().password});
    };
    for (const auto& suffix : suffixes) {
      move(key_ + suffix);
      let_pass(stay);
    }
    const auto left = [&] { return source.ask({"CLUSTER", "GETKEYSINSLOT", slot, "9"}).texts(); };
    for (auto keys = left(); !keys.empty(); keys = left()) {
      move(keys.front());
    }
    let_pass(stay);
    target.ask({"CLUSTER", "SETSLOT", slot, "NODE", target_id});
    let_pass(stay);
    for (std::size_t i = 0; i < RedisClusterServers::size; ++i) {
      Console{servers_.node(i).location()}.ask({"CLUSTER", "SETSLOT", slot, "NODE", target_id});
    }
  }

  RedisClusterServers servers_{keeping_data()};
  RedisOptions options_;
  Contenders contenders_{"order"};
  const std::string key_ = owner_key("order");
};

TEST_F(RedisClusterMoves, ASlotThatMovesUnderLoadCostsNoMutualExclusion) {
  contend();
  RecordingRetriever observer{"order"};
  const auto observing_factory = make_redis_factory(options_);
  const auto observing = observing_factory->create_mutex_retrieval_service(observer);
  observing->start();

  for (int round = 0; round < 3; ++round) {
    servers_.move_slot(key_, other_node(), [](int) { let_pass(200ms); });
    contenders_.expect_recovery(fmt::format("move {}", round));
  }
  contenders_.expect_all_take_part();

  const auto seen = observer.size();
  EXPECT_TRUE(eventually([&] { return observer.size() > seen + 4; }))
      << "the observer does not follow";
  end();
}

TEST_F(RedisClusterMoves, ASlotThatMovesKeyByKeyUnderLoadCostsNoMutualExclusion) {
  contend();
  const std::vector<std::vector<std::string>> orders{
      {"", ":fence", ":contender", ":line", ":waiters"},
      {":waiters", ":line", ":contender", ":fence", ""},
      {":fence", "", ":line", ":waiters", ":contender"}};
  for (const auto& order : orders) {
    move_key_by_key(order, 100ms);
    contenders_.expect_recovery(fmt::format("move that began with '{}'", order.front()));
  }
  contenders_.expect_all_take_part();
  end();
}

TEST_F(RedisClusterMoves, AMutexThatIsHeldIsRenewedForAsLongAsItsSlotMoves) {
  const auto factory = make_redis_factory(options_);
  RecordingContender contender{"order"};
  const auto service = factory->create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(contender.wait_for_acquisitions(1, scaled(10s)));
  RecordingContender waiter{"order"};
  const auto waiting = factory->create_mutex_contend_service(waiter);
  waiting->start();

  servers_.move_slot(key_, other_node(), [](int) { let_pass(short_lease + 200ms); });
  let_pass(short_lease);

  EXPECT_TRUE(service->is_owner());
  EXPECT_EQ(contender.releases(), 0U);
  EXPECT_EQ(waiter.acquisitions(), 0U);
  const auto taken = ServedTime::taken_by([&] {
    service->stop();
    ASSERT_TRUE(waiter.wait_for_acquisitions(1, scaled(10s)));
  });
  EXPECT_LT(taken, scaled(500ms)) << "the waiter was not told at the new node";
  EXPECT_TRUE(support::grows(contender.tokens().at(0), waiter.tokens().at(0)));
}

TEST_F(RedisClusterMoves, AWaiterIsToldAtTheNewNodeWhenTheSlotHasMovedWhileItWaited) {
  const auto one = make_redis_factory(options_);
  const auto two = make_redis_factory(options_);
  for (int round = 0; round < 3; ++round) {
    RecordingContender contender{"order"};
    const auto service = one->create_mutex_contend_service(contender);
    service->start();
    ASSERT_TRUE(contender.wait_for_acquisitions(1, scaled(10s)));
    RecordingContender waiter{"order"};
    const auto waiting = two->create_mutex_contend_service(waiter);
    waiting->start();
    Console console{servers_.node(servers_.node_of(key_)).location()};
    ASSERT_TRUE(eventually([&] { return console.value({"ZCARD", line_key("order")}) == "1"; }));

    servers_.move_slot(key_, other_node());
    service->stop();
    const auto begin = now();

    ASSERT_TRUE(waiter.wait_for_acquisitions(1, scaled(10s)));
    EXPECT_LT(now() - begin, scaled(short_lease + 1s));
    EXPECT_TRUE(support::grows(contender.tokens().at(0), waiter.tokens().at(0)));
  }
}

// In a cluster it cannot be seen whether someone of the JVM library listens, so those of ours who
// died in its queue must be told by other means.
TEST_F(RedisClusterMoves, OneOfOursWhoDiedInTheQueueOfTheJvmLibrarySwallowsNoRelease) {
  const auto one = make_redis_factory(support::redis_options(servers_.location()));
  const auto two = make_redis_factory(support::redis_options(servers_.location()));
  SimbaLocker owner{"order", *one};
  owner.acquire(scaled(10s));
  Console console{servers_.node(servers_.node_of(key_)).location()};
  console.ask({"ZADD", queue_key("order"), "1700000000.5", "died"});
  RecordingContender waiter{"order"};
  const auto waiting = two->create_mutex_contend_service(waiter);
  waiting->start();
  ASSERT_TRUE(eventually([&] {
    const auto entry = console.ask({"HGET", key_ + ":waiters", waiting->contender_id()}).text;
    return !entry.empty() && !entry.starts_with('-');
  }));

  owner.close();

  EXPECT_TRUE(support::within(1s, [&] { return waiter.acquisitions() == 1; }));
  EXPECT_EQ(console.value({"EXISTS", queue_key("order")}), "0");
}

// What is documented as unsafe, so that the documents say no more and no less than is true: a
// contender of the JVM library declares no key that exists, so while a slot moves the cluster sends
// it on to where the keys are not yet. Only there is it not excluded; ours are, all the time.
TEST_F(RedisClusterMoves, WhileASlotMovesAContenderOfTheJvmLibraryIsNotExcludedButOursAre) {
  const auto one = make_redis_factory(options_);
  const auto two = make_redis_factory(options_);
  SimbaLocker owner{"order", *one};
  owner.acquire(scaled(10s));
  RecordingContender waiter{"order"};
  const auto waiting = two->create_mutex_contend_service(waiter);
  waiting->start();
  const auto from = servers_.node_of(key_);
  const auto to = other_node();
  support::JvmContender before{servers_.node(from).location(), "order", "jvm-before"};
  before.start();
  ASSERT_EQ(before.said("waiting"), "waiting " + owner.contender_id()) << before.transcript();
  before.release();
  ASSERT_NE(before.said("not released"), "") << before.transcript();

  Console source{servers_.node(from).location()};
  Console target{servers_.node(to).location()};
  const auto slot = target.value({"CLUSTER", "KEYSLOT", key_});
  target.ask({"CLUSTER", "SETSLOT", slot, "IMPORTING", source.value({"CLUSTER", "MYID"})});
  source.ask({"CLUSTER", "SETSLOT", slot, "MIGRATING", target.value({"CLUSTER", "MYID"})});
  RecordingContender late{"order"};
  const auto later = two->create_mutex_contend_service(late);
  later->start();
  support::JvmContender during{servers_.node(from).location(), "order", "jvm-during"};
  during.start();

  EXPECT_NE(during.said("acquired"), "") << "it is excluded, and docs/guarantees.md warns in vain\n"
                                         << during.transcript();
  let_pass(2 * short_lease);
  EXPECT_TRUE(owner.is_held());
  EXPECT_EQ(source.value({"GET", key_}), owner.contender_id());
  EXPECT_EQ(waiter.acquisitions() + late.acquisitions(), 0U)
      << support::safety_violation << "two owners of ours";
}

TEST_F(RedisClusterMoves, ANodeThatIsKilledAndStartedAgainCostsNoMutualExclusion) {
  contend();
  const auto node = servers_.node_of(key_);
  contenders_.long_owner();
  servers_.node(node).kill();
  servers_.node(node).start();
  // A node that was started serves nobody for two seconds.
  EXPECT_TRUE(eventually([&] { return servers_.is_ok(); }));
  contenders_.expect_recovery("kill");

  contenders_.long_owner();
  servers_.node(node).kill();
  const auto killed = now();
  let_pass(short_lease + 200ms);
  EXPECT_LT(contenders_.ledger().last_seen(), killed + short_lease);
  servers_.node(node).start();
  EXPECT_TRUE(eventually([&] { return servers_.is_ok(); }));
  contenders_.expect_recovery("long absence");

  servers_.node((node + 1) % RedisClusterServers::size).kill();
  contenders_.expect_recovery("kill of a node that has nothing to do with it");
  servers_.node((node + 1) % RedisClusterServers::size).start();
  EXPECT_TRUE(eventually([&] { return servers_.is_ok(); }));
  contenders_.expect_recovery("return of that node");
  contenders_.expect_all_take_part();
  end();
}

}  // namespace
}  // namespace simba::redis::test
