#include "redis/routing/cluster_map.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/redis/fake_connection.hpp"

namespace simba::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Endpoint node_at(std::string host, std::uint16_t port) {
  return {.host = std::move(host), .port = port};
}

const Endpoint asked = node_at("10.0.0.1", 7000);

Reply node(Reply host, std::int64_t port) {
  return array_reply({std::move(host), integer_reply(port), text_reply("an id"), array_reply({})});
}

Reply node(const char* host, std::int64_t port) { return node(text_reply(host), port); }

Reply range(std::int64_t first, std::int64_t last, Reply master) {
  return array_reply({integer_reply(first), integer_reply(last), std::move(master)});
}

ClusterMap map_of(const Reply& reply, const Endpoint& server = asked) {
  const auto result = parse_cluster_slots(reply, server);
  if (const auto* error = std::get_if<Error>(&result)) throw *error;
  return std::get<ClusterMap>(result);
}

Error error_of(const Reply& reply) {
  auto result = parse_cluster_slots(reply, asked);
  if (auto* error = std::get_if<Error>(&result)) return *error;
  return Error{ErrorKind::illegal_state, "it was taken"};
}

TEST(RedisClusterMap, IsEmptyInTheBeginning) {
  const ClusterMap map;
  EXPECT_EQ(map.find(0), std::nullopt);
  EXPECT_EQ(map.find(16383), std::nullopt);
  EXPECT_EQ(map.served(), 0U);
  EXPECT_THAT(map.nodes(), IsEmpty());
}

TEST(RedisClusterMap, KnowsTheMasterOfEachSlot) {
  const ClusterMap map = map_of(array_reply({
      range(0, 99, node("10.0.0.1", 7000)),
      array_reply({integer_reply(100), integer_reply(100), node("node-2.example", 7001),
                   node("10.0.0.9", 7009)}),
      range(200, 16383, node("::1", 7000)),
  }));
  EXPECT_EQ(map.find(0), node_at("10.0.0.1", 7000));
  EXPECT_EQ(map.find(99), node_at("10.0.0.1", 7000));
  EXPECT_EQ(map.find(100), node_at("node-2.example", 7001));
  EXPECT_EQ(map.find(101), std::nullopt);
  EXPECT_EQ(map.find(16383), node_at("::1", 7000));
  EXPECT_EQ(map.find(16384), std::nullopt);
  EXPECT_EQ(map.served(), 100U + 1U + 16184U);
  EXPECT_THAT(map.nodes(), ElementsAre(node_at("10.0.0.1", 7000), node_at("::1", 7000),
                                       node_at("node-2.example", 7001)));
}

TEST(RedisClusterMap, TakesTheReplyOfAClusterThatIsNotSetUp) {
  EXPECT_EQ(map_of(array_reply({})), ClusterMap{});
}

TEST(RedisClusterMap, TakesANodeWithoutAnIdAsOldServersGiveIt) {
  const Reply old = array_reply({text_reply("10.0.0.2"), integer_reply(7002)});
  EXPECT_EQ(map_of(array_reply({range(5, 5, old)})).find(5), node_at("10.0.0.2", 7002));
}

TEST(RedisClusterMap, TakesTheServerThatWasAskedForANodeThatDoesNotKnowItsHost) {
  const Reply reply = array_reply({range(0, 0, node("", 7009))});
  EXPECT_EQ(map_of(reply).find(0), asked);
  const Endpoint local{.unix_socket = "/run/redis.sock"};
  EXPECT_EQ(map_of(reply, local).find(0), local);
}

TEST(RedisClusterMap, TakesTheHostThatWasAskedForANodeThatTellsOnlyItsPort) {
  const Reply reply = array_reply({range(0, 0, node(nil_reply(), 7009))});
  EXPECT_EQ(map_of(reply).find(0), node_at("10.0.0.1", 7009));
  EXPECT_EQ(map_of(reply, {.unix_socket = "/run/redis.sock"}).find(0), node_at("127.0.0.1", 7009));
}

TEST(RedisClusterMap, LeavesOutTheSlotsOfANodeThatCannotBeReached) {
  const ClusterMap map = map_of(array_reply({
      range(0, 9, node("?", 7001)),
      range(10, 19, node("10.0.0.2", 0)),
      range(20, 29, node("10.0.0.3", 7003)),
  }));
  EXPECT_EQ(map.find(0), std::nullopt);
  EXPECT_EQ(map.find(10), std::nullopt);
  EXPECT_EQ(map.served(), 10U);
  EXPECT_THAT(map.nodes(), ElementsAre(node_at("10.0.0.3", 7003)));
}

TEST(RedisClusterMap, RefusesARangeThatIsNone) {
  const Reply good = node("10.0.0.1", 7000);
  for (const Reply& bad : {
           range(-1, 5, good),
           range(5, 16384, good),
           range(6, 5, good),
           range(INT64_MIN, INT64_MAX, good),
           array_reply({text_reply("0"), integer_reply(1), good}),
           array_reply({integer_reply(0), integer_reply(1)}),
           array_reply({}),
           integer_reply(5),
           nil_reply(),
       }) {
    EXPECT_EQ(error_of(array_reply({bad})).kind(), ErrorKind::internal);
  }
}

TEST(RedisClusterMap, RefusesANodeThatIsNone) {
  for (const Reply& bad : {
           node("10.0.0.1", -1),
           node("10.0.0.1", 65536),
           node("10.0.0.1\n", 7000),
           node("a b", 7000),
           node(std::string(256, 'a').c_str(), 7000),
           node(integer_reply(1), 7000),
           node(array_reply({}), 7000),
           array_reply({text_reply("10.0.0.1"), text_reply("7000")}),
           array_reply({text_reply("10.0.0.1")}),
           array_reply({}),
           text_reply("10.0.0.1:7000"),
           nil_reply(),
       }) {
    EXPECT_EQ(error_of(array_reply({range(0, 1, bad)})).kind(), ErrorKind::internal);
  }
}

TEST(RedisClusterMap, RefusesRangesThatOverlap) {
  const Error error = error_of(array_reply({
      range(0, 100, node("10.0.0.1", 7000)),
      range(100, 200, node("10.0.0.2", 7000)),
  }));
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_THAT(error.what(), HasSubstr("Redis at 10.0.0.1:7000"));
  EXPECT_THAT(error.what(), HasSubstr("slot 100 is in two ranges"));
  EXPECT_EQ(error_of(array_reply({
                         range(0, 100, node("?", 7000)),
                         range(100, 200, node("?", 7000)),
                     }))
                .kind(),
            ErrorKind::internal);
}

TEST(RedisClusterMap, RefusesMoreMastersThanAnyClusterHas) {
  std::vector<Reply> ranges;
  for (int slot = 0; slot < 2'000; ++slot) {
    ranges.push_back(range(slot, slot, node("10.0.0.1", 1'000 + slot)));
  }
  EXPECT_THAT(error_of(array_reply(std::move(ranges))).what(), HasSubstr("masters"));
}

TEST(RedisClusterMap, RefusesAReplyThatIsNoArray) {
  for (const Reply& bad : {nil_reply(), text_reply("x"), status_reply("OK"), integer_reply(1)}) {
    EXPECT_EQ(error_of(bad).kind(), ErrorKind::internal);
  }
}

TEST(RedisClusterMap, SaysThatAServerIsNotPartOfACluster) {
  const Error error = error_of(error_reply("ERR This instance has cluster support disabled"));
  EXPECT_EQ(error.kind(), ErrorKind::configuration);
  EXPECT_THAT(error.what(), HasSubstr("Redis at 10.0.0.1:7000 is not part of a cluster"));
}

TEST(RedisClusterMap, PassesOnWhatTheServerRefuses) {
  const Error error = error_of(
      error_reply("NOPERM this user has no permissions to run the 'cluster|slots' command"));
  EXPECT_EQ(error.kind(), ErrorKind::permission);
}

TEST(RedisClusterMap, FollowsASlotThatMoved) {
  ClusterMap map = map_of(array_reply({range(0, 16383, node("10.0.0.1", 7000))}));
  map.moved(5, node_at("10.0.0.2", 7000));
  EXPECT_EQ(map.find(4), node_at("10.0.0.1", 7000));
  EXPECT_EQ(map.find(5), node_at("10.0.0.2", 7000));
  EXPECT_EQ(map.served(), 16384U);
  EXPECT_THAT(map.nodes(), ElementsAre(node_at("10.0.0.1", 7000), node_at("10.0.0.2", 7000)));
}

TEST(RedisClusterMap, TakesASlotThatNobodyServed) {
  ClusterMap map;
  map.moved(16383, node_at("10.0.0.2", 7000));
  EXPECT_EQ(map.find(16383), node_at("10.0.0.2", 7000));
  EXPECT_EQ(map.served(), 1U);
}

TEST(RedisClusterMap, IgnoresASlotThatDoesNotExist) {
  ClusterMap map;
  map.moved(16384, node_at("10.0.0.2", 7000));
  EXPECT_EQ(map, ClusterMap{});
}

TEST(RedisClusterMap, ForgetsANodeWithItsLastSlot) {
  ClusterMap map;
  map.moved(1, node_at("10.0.0.1", 7000));
  map.moved(1, node_at("10.0.0.2", 7000));
  EXPECT_THAT(map.nodes(), ElementsAre(node_at("10.0.0.2", 7000)));
  map.moved(2, node_at("10.0.0.3", 7000));
  EXPECT_THAT(map.nodes(), ElementsAre(node_at("10.0.0.2", 7000), node_at("10.0.0.3", 7000)));
  EXPECT_EQ(map.find(1), node_at("10.0.0.2", 7000));
}

TEST(RedisClusterMap, EqualsOneThatCameAboutInAnotherWay) {
  ClusterMap left;
  left.moved(1, node_at("10.0.0.1", 7000));
  left.moved(2, node_at("10.0.0.2", 7000));
  ClusterMap right;
  right.moved(3, node_at("10.0.0.3", 7000));
  right.moved(3, node_at("10.0.0.2", 7000));
  right.moved(2, node_at("10.0.0.2", 7000));
  right.moved(1, node_at("10.0.0.1", 7000));
  EXPECT_NE(left, right);
  left.moved(3, node_at("10.0.0.2", 7000));
  EXPECT_EQ(left, right);
  right.moved(3, node_at("10.0.0.1", 7000));
  EXPECT_NE(left, right);
}

TEST(RedisClusterMap, AgreesWithAPlainTableWhateverMoves) {
  std::mt19937 random{20261115};
  const auto below = [&random](unsigned bound) {
    return static_cast<std::uint16_t>(random() % bound);
  };
  ClusterMap map;
  std::map<std::uint16_t, Endpoint> table;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint16_t slot = below(64);
    const Endpoint endpoint = node_at("10.0.0.1", static_cast<std::uint16_t>(7000 + below(100)));
    map.moved(slot, endpoint);
    table[slot] = endpoint;
  }
  std::set<Endpoint> nodes;
  for (const auto& [slot, endpoint] : table) {
    EXPECT_EQ(map.find(slot), endpoint);
    nodes.insert(endpoint);
  }
  EXPECT_EQ(map.served(), table.size());
  EXPECT_EQ(map.nodes(), std::vector<Endpoint>(nodes.begin(), nodes.end()));
}

/// Anything, with the shapes that a good reply has more often than others.
Reply random_reply(std::mt19937& random, int depth) {
  static const std::vector<std::string> texts{"",  "?",        "10.0.0.1",        "a b",
                                              "x", "MOVED 1 ", std::string(9, 0), "\xFF"};
  static const std::vector<std::int64_t> numbers{0,     1,     5,     7000,      16383,
                                                 16384, 65535, 65536, INT64_MIN, INT64_MAX};
  switch (random() % (depth > 0 ? 9 : 6)) {
    case 0:
      return nil_reply();
    case 1:
      return text_reply(texts[random() % texts.size()]);
    case 2:
      return error_reply(texts[random() % texts.size()]);
    case 3:
    case 4:
    case 5:
      return integer_reply(numbers[random() % numbers.size()]);
    case 6:
      return range(numbers[random() % numbers.size()], numbers[random() % numbers.size()],
                   node(texts[random() % texts.size()].c_str(), numbers[random() % 6]));
    default: {
      std::vector<Reply> elements;
      for (auto count = random() % 4; count > 0; --count) {
        elements.push_back(random_reply(random, depth - 1));
      }
      return array_reply(std::move(elements));
    }
  }
}

TEST(RedisClusterMap, NeitherThrowsNorInventsSlotsWhateverAServerSays) {
  std::mt19937 random{4};
  int taken = 0;
  for (int round = 0; round < 5'000; ++round) {
    const auto result = parse_cluster_slots(random_reply(random, 4), asked);
    const auto* map = std::get_if<ClusterMap>(&result);
    if (map == nullptr || map->served() == 0) continue;
    ++taken;
    EXPECT_LE(map->served(), slot_count);
    for (const Endpoint& endpoint : map->nodes()) {
      EXPECT_FALSE(endpoint.host.empty());
      EXPECT_NE(endpoint.port, 0);
    }
  }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace simba::redis
