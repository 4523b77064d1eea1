#include "redis/routing/script_request.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/protocol/keys.hpp"
#include "redis/routing/cluster_router.hpp"
#include "unit/redis/fake_dialer.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAreArray;
using Kind = ScriptRequest::Kind;

Reply owned_by(const std::string& owner, const std::string& token = "7") {
  return array_reply({text_reply(owner), text_reply(token), integer_reply(16'000),
                      integer_reply(10'000), integer_reply(6'000), text_reply("1700000000"),
                      text_reply("0"), text_reply("0")});
}

/// What a node says of the slot of mutex "m".
Reply refers(const std::string& how, const std::string& where) {
  return error_reply(fmt::format("{} {} {}", how, slot_of(lock_name("m")), where));
}

/// A request to one server, or to a cluster, that the test plays.
class RedisScriptRequest : public testing::Test {
 protected:
  // A request that waits for its connection keeps itself alive.
  ~RedisScriptRequest() override {
    if (context_->router) context_->router->close();
  }

  void use_single() {
    context_->router = std::make_shared<FixedRouter>(std::make_shared<Node>(
        fake_.dialer(), Subscriptions::Grants::count, Endpoint{}, context_->confirmation));
  }

  void use_cluster(std::vector<Endpoint> seeds = {{.port = 7000}, {.port = 7001}}) {
    context_->router = std::make_shared<ClusterRouter>(
        std::move(seeds),
        [this](const Endpoint& endpoint) {
          Dialer dialer = fake_.dialer();
          auto source = std::make_shared<FakeSource>();
          source->endpoint = endpoint;
          dialer.source = source;
          return std::make_shared<Node>(dialer, Subscriptions::Grants::count, endpoint);
        },
        fake_.world.runtime(), [this] { ++map_changes_; });
  }

  void send(Kind kind, FencingToken token = 0) {
    std::make_shared<ScriptRequest>(
        context_, kind,
        engine::LeaseRequest{.mutex = "m", .contender_id = "me", .ttl = 10s, .transition = 6s},
        token, [this](engine::LeaseAnswer answer) { answers_.push_back(std::move(answer)); })
        ->send();
    fake_.world.run_ready();
    ++sent_;
  }

  static std::uint16_t slot() { return slot_of(lock_name("m")); }

  /// The newest connection to the server at this port.
  FakeConnection& at(std::uint16_t port) {
    fake_.world.run_ready();
    FakeConnection* found = nullptr;
    for (const auto& connection : fake_.connections.opened) {
      if (connection->endpoint.port == port) found = connection.get();
    }
    if (found == nullptr) throw std::logic_error{"nobody has connected to that port"};
    return *found;
  }

  const engine::LeaseRecord& record() const { return *answers_.at(0).record(); }
  const Error& error() const { return *answers_.at(0).error(); }

  FakeDialer fake_;
  int map_changes_ = 0;
  std::shared_ptr<RequestContext> context_ = std::make_shared<RequestContext>();
  std::vector<engine::LeaseAnswer> answers_;
  std::size_t sent_ = 0;
};

TEST_F(RedisScriptRequest, NamesTheScriptByItsHashAndEveryKeyItTouches) {
  use_single();
  send(Kind::acquire);
  EXPECT_THAT(at(7000).take_sent(),
              ElementsAre("EVALSHA " + hash_of(Script::acquire) +
                          " 5 simba:{m} simba:{m}:fence simba:{m}:contender simba:{m}:line "
                          "simba:{m}:waiters me 10000 6000 - 0 0 0 86400000"));
  send(Kind::guard);
  EXPECT_THAT(at(7000).take_sent(),
              ElementsAre("EVALSHA " + hash_of(Script::guard) +
                          " 2 simba:{m} simba:{m}:fence me 10000 6000 0 86400000"));
  send(Kind::release, 7);
  EXPECT_THAT(at(7000).take_sent(),
              ElementsAre("EVALSHA " + hash_of(Script::release) +
                          " 5 simba:{m} simba:{m}:fence simba:{m}:contender simba:{m}:line "
                          "simba:{m}:waiters me 7 simba:releases:{m} single 86400000"));
  send(Kind::retrieve);
  EXPECT_THAT(at(7000).take_sent(), ElementsAre("EVALSHA " + hash_of(Script::guard) +
                                                " 2 simba:{m} simba:{m}:fence  0 0 0 0"));
}

TEST_F(RedisScriptRequest, SendsTheWholeScriptToAServerThatDoesNotKnowIt) {
  use_single();
  send(Kind::acquire);
  at(7000).take_sent();
  at(7000).answer(error_reply("NOSCRIPT No matching script. Please use EVAL."));
  EXPECT_THAT(at(7000).take_sent(), ElementsAre(StartsWith("EVAL -- ")));
  at(7000).answer(owned_by("me"));
  EXPECT_EQ(record().owner_id, "me");
}

TEST_F(RedisScriptRequest, AServerThatNeverKnowsTheScriptIsAnError) {
  use_single();
  send(Kind::acquire);
  at(7000).answer(error_reply("NOSCRIPT"));
  at(7000).answer(error_reply("NOSCRIPT"));
  EXPECT_NE(answers_.at(0).error(), nullptr);
}

TEST_F(RedisScriptRequest, AServerThatWasDemotedIsLeftAndTheErrorPasses) {
  use_single();
  send(Kind::guard);
  auto& old = at(7000);
  old.answer(error_reply("READONLY You can't write against a read only replica."));
  EXPECT_TRUE(error().is_transient());
  EXPECT_TRUE(old.closed());
}

TEST_F(RedisScriptRequest, ANodeOfAClusterThatIsTakenForASingleServerIsAConfigurationError) {
  use_single();
  send(Kind::acquire);
  at(7000).answer(refers("MOVED", "127.0.0.1:7001"));
  EXPECT_EQ(error().kind(), ErrorKind::configuration);
  EXPECT_THAT(error().what(), HasSubstr("cluster"));
}

TEST_F(RedisScriptRequest, FollowsASlotThatHasMovedAndRemembersIt) {
  use_cluster();
  send(Kind::acquire);
  at(7000).answer(refers("MOVED", "127.0.0.1:7002"));
  EXPECT_EQ(map_changes_, 1);
  EXPECT_THAT(at(7002).take_sent(), Contains(StartsWith("EVALSHA")));
  send(Kind::guard);
  EXPECT_THAT(at(7002).take_sent(), Contains(StartsWith("EVALSHA")));
}

TEST_F(RedisScriptRequest, FollowsASlotThatIsBeingMovedForThisRequestOnly) {
  use_cluster();
  send(Kind::guard);
  at(7000).answer(refers("ASK", "127.0.0.1:7001"));
  EXPECT_THAT(at(7001).take_sent(), ElementsAre("ASKING", StartsWith("EVALSHA")));
  at(7001).answer(std::vector<Reply>{status_reply("OK"), owned_by("me")});
  EXPECT_EQ(record().owner_id, "me");
  at(7000).take_sent();
  send(Kind::guard);
  EXPECT_THAT(at(7000).take_sent(), ElementsAre(StartsWith("EVALSHA")));
}

TEST_F(RedisScriptRequest, AsksAgainWithTheWholeScriptWhereTheNewNodeDoesNotKnowIt) {
  use_cluster();
  send(Kind::guard);
  at(7000).answer(refers("ASK", "127.0.0.1:7001"));
  at(7001).take_sent();
  at(7001).answer(std::vector<Reply>{status_reply("OK"), error_reply("NOSCRIPT")});
  EXPECT_THAT(at(7001).take_sent(), ElementsAre("ASKING", StartsWith("EVAL -- ")));
}

TEST_F(RedisScriptRequest, AClusterThatRefersInCirclesIsAnErrorThatPasses) {
  use_cluster();
  send(Kind::guard);
  at(7000).answer(refers("ASK", "127.0.0.1:7001"));
  for (int i = 0; i < 10 && answers_.empty(); ++i) {
    const std::uint16_t here = i % 2 == 0 ? 7001 : 7000;
    at(here).answer(std::vector<Reply>{
        status_reply("OK"), refers("ASK", i % 2 == 0 ? "127.0.0.1:7000" : "127.0.0.1:7001")});
  }
  EXPECT_TRUE(error().is_transient());
}

TEST_F(RedisScriptRequest, ANodeThatTheClusterDoesNotKnowIsAnError) {
  use_cluster();
  send(Kind::guard);
  at(7000).answer(refers("MOVED", "?:7002"));
  EXPECT_NE(answers_.at(0).error(), nullptr);
}

TEST_F(RedisScriptRequest, AfterAFailureTheMapIsAskedForElsewhere) {
  use_cluster();
  send(Kind::guard);
  at(7000).fail({ErrorKind::unavailable, "connection refused"});
  EXPECT_TRUE(error().is_transient());
  EXPECT_THAT(at(7001).take_sent(), ElementsAre("CLUSTER SLOTS"));
  send(Kind::guard);
  EXPECT_THAT(at(7001).take_sent(), ElementsAre(StartsWith("EVALSHA")));
}

TEST_F(RedisScriptRequest, ANodeThatRefersToAStrangerGetsNobodyToLogInThere) {
  fake_.settings->permitted_hosts = {"127.0.0.1"};
  use_cluster();
  send(Kind::acquire);
  at(7000).answer(refers("MOVED", "6.6.6.6:7002"));
  fake_.world.run_ready();
  EXPECT_EQ(error().kind(), ErrorKind::configuration);
  EXPECT_THROW(at(7002), std::logic_error);
}

TEST_F(RedisScriptRequest, ANodeThatRefersElsewhereHasNoPasswordSentThereUnencrypted) {
  fake_.settings->password = Secret{"hunter2"};
  use_cluster();
  send(Kind::acquire);
  at(7000).answer(refers("MOVED", "10.0.3.1:7002"));
  fake_.world.run_ready();
  EXPECT_EQ(error().kind(), ErrorKind::configuration);
  EXPECT_THAT(error().what(), HasSubstr("set tls.mode"));
  EXPECT_THROW(at(7002), std::logic_error);
}

/// A cluster whose nodes serve a part of the slots each, and say which if they are asked.
class RedisClusterRouter : public RedisScriptRequest {
 protected:
  void use_nodes(const std::vector<std::uint16_t>& ports) {
    std::vector<Endpoint> seeds;
    std::vector<Reply> ranges;
    for (const std::uint16_t port : ports) {
      const auto from = static_cast<int>(ranges.size()) * 1'000;
      const int to = ranges.size() + 1 == ports.size() ? 16'383 : from + 999;
      seeds.push_back({.port = port});
      ranges.push_back(array_reply({integer_reply(from), integer_reply(to),
                                    array_reply({text_reply("127.0.0.1"), integer_reply(port)})}));
    }
    map_ = array_reply(std::move(ranges));
    use_cluster(std::move(seeds));
  }

  /// Has the map asked for, by saying that a slot is at the last of the nodes. Which nodes are
  /// asked, until one answers that is not `silent`.
  std::vector<std::uint16_t> asked_for_map(std::uint16_t silent = 0) {
    fake_.world.advance(1s);
    const auto last = map_.elements.back().elements.at(2).elements.at(1).integer;
    context_->router->moved(moved_slots_++, {.port = static_cast<std::uint16_t>(last)});
    return asked_now(silent);
  }

  std::vector<std::uint16_t> asked_now(std::uint16_t silent = 0) {
    std::vector<std::uint16_t> asked;
    for (bool more = true; more;) {
      more = false;
      fake_.world.run_ready();
      for (const auto& connection : std::vector{fake_.connections.opened}) {
        if (connection->take_sent() != std::vector<std::string>{"CLUSTER SLOTS"}) continue;
        const std::uint16_t port = connection->endpoint.port;
        asked.push_back(port);
        more = port == silent;
        if (more) {
          connection->fail({ErrorKind::timeout, "no answer"});
        } else {
          connection->answer(map_);
        }
      }
    }
    return asked;
  }

  using Ports = std::vector<std::uint16_t>;

 private:
  Reply map_;
  std::uint16_t moved_slots_ = 0;
};

TEST_F(RedisClusterRouter, AsksAnotherNodeForTheMapEachTime) {
  for (const auto& ports : {Ports{7000, 7001, 7002}, Ports{6379, 7001, 7002}}) {
    use_nodes(ports);
    Ports asked;
    for (int i = 0; i < 6; ++i) {
      const auto now = asked_for_map();
      asked.insert(asked.end(), now.begin(), now.end());
    }
    ASSERT_EQ(asked.size(), 6U);
    EXPECT_THAT(Ports(asked.begin(), asked.begin() + 3), UnorderedElementsAreArray(ports));
    EXPECT_EQ(Ports(asked.begin(), asked.begin() + 3), Ports(asked.begin() + 3, asked.end()));
  }
}

TEST_F(RedisClusterRouter, DoesNotAskTheNodeForTheMapThatWasAskedLastWhereTheNextOneFails) {
  const Ports ports{7000, 7001, 7002};
  use_nodes(ports);
  Ports order;
  for (int i = 0; i < 3; ++i) order.push_back(asked_for_map().at(0));
  fake_.world.advance(1s);
  context_->router->failed(*context_->router->node_at({.port = order[0]}));
  EXPECT_THAT(asked_now(), ElementsAre(order[1])) << "the last one was " << order[2];
}

TEST_F(RedisClusterRouter, CountsANodeThatWasAskedForTheMapInVainAsAsked) {
  use_nodes({7000, 7001, 7002});
  Ports order;
  for (int i = 0; i < 3; ++i) order.push_back(asked_for_map().at(0));
  EXPECT_THAT(asked_for_map(order[0]), ElementsAre(order[0], order[1]));
  EXPECT_THAT(asked_for_map(), ElementsAre(order[2]));
}

// Such as while they may not be connected to again, just after they have failed.
TEST_F(RedisClusterRouter, GoesOnWhereNodesThatItKnowsRefuseARequestAtOnce) {
  use_nodes({7000, 7001, 7002});
  for (const std::uint16_t port : Ports{7000, 7001, 7002}) {
    context_->router->node_at({.port = port})->commands().close();
  }
  context_->router->failed(*context_->router->node_at({.port = 7000}));
  EXPECT_NE(context_->router->node_for(slot()), nullptr);
}

TEST_F(RedisClusterRouter, LeavesNodesThatItsMapDoesNotKnowWhereTheyBecomeMany) {
  use_nodes({7000, 7001});
  ASSERT_THAT(asked_for_map(), SizeIs(1));
  for (std::uint16_t port = 8000; port < 8100; ++port) {
    send(Kind::guard);
    const std::uint16_t serving = context_->router->node_for(slot())->endpoint().port;
    at(serving).answer(refers("ASK", fmt::format("127.0.0.1:{}", port)));
    at(port).answer(std::vector<Reply>{status_reply("OK"), owned_by("me")});
  }
  EXPECT_EQ(answers_.size(), 100U);
  EXPECT_LE(fake_.connections.alive(), 18U);
  EXPECT_FALSE(at(8099).closed());
  EXPECT_TRUE(at(8000).closed());
}

TEST_F(RedisClusterRouter, LeavesNodesToWhichItsSlotsHaveMovedForAMoment) {
  use_nodes({7000, 7001});
  send(Kind::guard);
  for (std::uint16_t port = 8000; port < 8100; ++port) {
    const std::uint16_t serving = context_->router->node_for(slot())->endpoint().port;
    at(serving).answer(refers("MOVED", fmt::format("127.0.0.1:{}", port)));
    if (answers_.size() > sent_ - 1) send(Kind::guard);
  }
  EXPECT_LE(fake_.connections.alive(), 20U);
}

TEST_F(RedisClusterRouter, LeavesNoNodeThatIsAboutToAnswer) {
  use_nodes({7000, 7001});
  ASSERT_THAT(asked_for_map(), SizeIs(1));
  for (std::uint16_t port = 8000; port < 8050; ++port) {
    send(Kind::guard);
    const std::uint16_t serving = context_->router->node_for(slot())->endpoint().port;
    at(serving).answer(refers("ASK", fmt::format("127.0.0.1:{}", port)));
  }
  for (std::uint16_t port = 8000; port < 8050; ++port) {
    at(port).answer(std::vector<Reply>{status_reply("OK"), owned_by("me")});
  }
  EXPECT_EQ(answers_.size(), 50U);
  for (const auto& answer : answers_) EXPECT_NE(answer.record(), nullptr);
}

TEST_F(RedisScriptRequest, AnAcquisitionCountsOnceEnoughReplicasHaveConfirmed) {
  context_->confirmation = {.replicas = 2, .timeout = 300ms};
  use_single();
  send(Kind::acquire);
  EXPECT_THAT(at(7000).take_sent(), ElementsAre(StartsWith("EVALSHA"), "WAIT 2 300"));
  at(7000).answer(std::vector<Reply>{owned_by("me"), integer_reply(2)});
  EXPECT_EQ(record().owner_id, "me");
}

TEST_F(RedisScriptRequest, WithTooFewReplicasItIsInDoubt) {
  context_->confirmation = {.replicas = 2, .timeout = 300ms};
  use_single();
  send(Kind::guard);
  at(7000).answer(std::vector<Reply>{owned_by("me"), integer_reply(1)});
  EXPECT_TRUE(error().in_doubt());
  EXPECT_THAT(error().what(), HasSubstr("1 of 2 replicas"));
}

TEST_F(RedisScriptRequest, ReplicasDoNotMatterWhereAnotherOwnsOrNothingIsTaken) {
  context_->confirmation = {.replicas = 2, .timeout = 300ms};
  use_single();
  send(Kind::acquire);
  at(7000).answer(std::vector<Reply>{owned_by("you"), integer_reply(0)});
  EXPECT_EQ(record().owner_id, "you");
  at(7000).take_sent();
  send(Kind::release, 7);
  EXPECT_THAT(at(7000).take_sent(), ElementsAre(StartsWith("EVALSHA")));
}

}  // namespace
}  // namespace simba::redis
