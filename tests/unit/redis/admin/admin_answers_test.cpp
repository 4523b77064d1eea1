#include "redis/admin/admin_answers.hpp"

#include <array>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "unit/redis/fake_connection.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;

TEST(RedisAdminAnswers, FindAValueInTheLinesOfInfo) {
  const std::string info = "# Server\r\nredis_version:7.0.15\r\nredis_version_x:1\r\nempty:\r\n";
  EXPECT_EQ(value_in(info, "redis_version"), "7.0.15");
  EXPECT_EQ(value_in(info, "redis"), "");
  EXPECT_EQ(value_in(info, "empty"), "");
  EXPECT_EQ(value_in("a:\033[31m", "a"), "\\x1b[31m");
}

TEST(RedisAdminAnswers, CountTheCallsOfACommand) {
  const std::string stats =
      "# Commandstats\r\ncmdstat_ping:calls=12,usec=3,usec_per_call=0.25\r\n"
      "cmdstat_info:calls=1,usec=70\r\ncmdstat_pinger:calls=9\r\ncmdstat_odd:12\r\n";
  EXPECT_EQ(calls_in(stats, "ping"), 12U);
  EXPECT_EQ(calls_in(stats, "get"), 0U) << "it has never been called";
  EXPECT_EQ(calls_in(stats, "odd"), std::nullopt);
  EXPECT_EQ(calls_in("cmdstat_ping:calls=1\r\n", "ping"), std::nullopt) << "this is no such text";
  EXPECT_EQ(calls_in("cmdstat_info:calls=1\r\ncmdstat_ping:calls=-1\r\n", "ping"), std::nullopt);
  EXPECT_EQ(calls_in("", "ping"), std::nullopt);
}

TEST(RedisAdminAnswers, TellWhichProductItIs) {
  const auto name = [](std::string_view info) {
    const auto server = server_in(info);
    return server.product + " " + server.version;
  };
  EXPECT_EQ(name("redis_version:7.0.15\r\nexecutable:/usr/bin/redis-server\r\n"), "Redis 7.0.15");
  EXPECT_EQ(name("redis_version:7.2.4\r\nvalkey_version:8.1.1\r\n"), "Valkey 8.1.1");
  EXPECT_EQ(name("redis_version:7.4.0\r\ndragonfly_version:df-v1.30.0\r\n"),
            "Dragonfly df-v1.30.0");
  EXPECT_EQ(name("redis_version:7.0.0\r\nkvrocks_version:2.12.1\r\n"), "Kvrocks 2.12.1");
  EXPECT_EQ(name("redis_version:6.3.4\r\nexecutable:/opt/keydb-server\r\n"), "KeyDB 6.3.4");
  EXPECT_EQ(name(""), "Redis ");
}

TEST(RedisAdminAnswers, TellAnOldVersion) {
  EXPECT_TRUE(is_too_old("6.0.16"));
  EXPECT_TRUE(is_too_old("5"));
  EXPECT_FALSE(is_too_old("6.2.0"));
  EXPECT_FALSE(is_too_old("10.0"));
}

TEST(RedisAdminAnswers, ReadTheTimeOfAServer) {
  EXPECT_EQ(server_time(array_reply({text_reply("1700000000"), text_reply("123456")})),
            StoreTime{1'700'000'000'123ms});
}

TEST(RedisAdminAnswers, BelieveNoTimeThatIsNone) {
  for (const auto* const seconds : {"9223372036854775807", "-9223372036854775808", "0", "soon"}) {
    EXPECT_FALSE(server_time(array_reply({text_reply(seconds), text_reply("1")}))) << seconds;
  }
  EXPECT_FALSE(server_time(array_reply({text_reply("1"), text_reply("9223372036854775807")})));
  EXPECT_FALSE(server_time(Reply{}));
}

TEST(RedisAdminAnswers, KnowTheMutexOfAKey) {
  EXPECT_EQ(mutex_of("simba:{orders}"), "orders");
  EXPECT_EQ(mutex_of("simba:{orders}:fence"), "orders");
  EXPECT_EQ(mutex_of("simba:{a}:fence}"), "a}:fence");
  EXPECT_EQ(mutex_of("simba:{}"), "");
  EXPECT_EQ(mutex_of("simba:{orders}:queue"), "");
  EXPECT_EQ(mutex_of("simba:{orders}:record"), "");
}

TEST(RedisAdminAnswers, HaveTheLastTokenOfAFreeMutex) {
  const std::array<Reply, 2> replies{
      array_reply({text_reply(""), text_reply("0"), integer_reply(0), integer_reply(0),
                   integer_reply(0), text_reply("1700000000"), text_reply("0"), text_reply("0")}),
      text_reply("41")};
  const auto entry = entry_in(replies, "m");
  EXPECT_EQ(entry.owner_id, "");
  EXPECT_EQ(entry.fencing_token, 41U);
  EXPECT_EQ(entry.left, 0ms);
}

TEST(RedisAdminAnswers, RefuseWhatIsNoAnswer) {
  const std::array<Reply, 2> replies{text_reply("x"), Reply{}};
  EXPECT_THROW(entry_in(replies, "m"), Error);
}

TEST(RedisAdminAnswers, ReplicasAreInTheRoleOfAMaster) {
  const auto replica = [](const std::string& host, const std::string& port) {
    return array_reply({text_reply(host), text_reply(port), text_reply("42")});
  };
  const Reply role = array_reply(
      {text_reply("master"), integer_reply(42),
       array_reply({replica("10.0.0.6", "6380"), replica("", "1"), replica("10.0.0.7", "x"),
                    array_reply({}), replica("10.0.0.8 x", "1"), replica("\x1b[2J", "1"),
                    replica(std::string(256, 'h'), "1")})});
  EXPECT_EQ(replicas_in(role), (std::vector<Endpoint>{{.host = "10.0.0.6", .port = 6380}}));
  EXPECT_TRUE(replicas_in(array_reply({text_reply("slave"), text_reply("10.0.0.5")})).empty());
  EXPECT_TRUE(replicas_in(error_reply("NOPERM")).empty());
}

TEST(RedisAdminAnswers, AClockIsOffByWhatTheTimeBetweenTwoLooksAtAnotherDoesNotExplain) {
  const auto at = [](int ms) { return StoreTime{std::chrono::milliseconds{1'000'000 + ms}}; };
  EXPECT_EQ(ahead_of(at(0), at(3), at(5)).count(), 0);
  EXPECT_EQ(ahead_of(at(0), at(25), at(5)).count(), 20);
  EXPECT_EQ(ahead_of(at(0), at(-7), at(5)).count(), -7);
}

std::string user_of_every_channel(std::string_view line) {
  const AclUser user = acl_user_in(line);
  return user.uses_every_channel ? user.name : "";
}

TEST(RedisAdminAnswers, WhoMayUseEveryChannelIsFoundInALineOfTheAcl) {
  EXPECT_EQ(user_of_every_channel("user default on nopass ~* &* +@all"), "default");
  EXPECT_EQ(user_of_every_channel("user spy on #1f &* -@all +psubscribe"), "spy");
  EXPECT_EQ(user_of_every_channel("user old on #1f allkeys allchannels allcommands"), "old");
  EXPECT_EQ(user_of_every_channel("user app on #1f ~simba:* resetchannels &simba:* +@all"), "");
  EXPECT_EQ(user_of_every_channel("user gone off #1f ~* &* +@all"), "");
  EXPECT_EQ(user_of_every_channel("user reader on #1f ~* &* -@all +get"), "");
  EXPECT_EQ(user_of_every_channel("user (spy) on #1f resetchannels -@all (&* -@all +publish)"),
            "(spy)");
  for (const char* rules : {"+@fast", "+@slow", "+@pubsub", "-@all +@slow -subscribe",
                            "-@all +@pubsub -subscribe  (~x resetchannels -@all)"}) {
    EXPECT_EQ(user_of_every_channel(std::string{"user spy on #1f &* "} + rules), "spy") << rules;
  }
  for (const char* rules :
       {"+@all -@pubsub", "+@fast -publish", "+@slow -@pubsub", "+publish -publish (~x &* +get)"}) {
    EXPECT_EQ(user_of_every_channel(std::string{"user app on #1f &* "} + rules), "") << rules;
  }
  EXPECT_EQ(user_of_every_channel("user app on #1f &simba:* -@all +publish (&* -@all +get)"), "");
  EXPECT_EQ(user_of_every_channel(""), "");
  EXPECT_EQ(user_of_every_channel("user"), "");
}

TEST(RedisAdminAnswers, WhoReadsRequestsAndHasNoRightsToOurKeysIsFoundInALineOfTheAcl) {
  const auto only_reads = [](const std::string& rules) {
    return acl_user_in("user spy on #1f " + rules).only_reads_requests;
  };
  for (const char* rules : {"-@all +monitor", "~other:* +slowlog|get", "+@admin", "+@dangerous",
                            "+@all", "-@all +@slow -slowlog", "-@all (~x +monitor)"}) {
    EXPECT_TRUE(only_reads(rules)) << rules;
  }
  for (const char* rules : {"~* +@all", "~simba:* +monitor", "allkeys allcommands", "-@all +get",
                            "+@all -@dangerous", "+@slow -monitor -slowlog"}) {
    EXPECT_FALSE(only_reads(rules)) << rules;
  }
  EXPECT_FALSE(acl_user_in("user gone off #1f +@all").only_reads_requests);
}

}  // namespace
}  // namespace simba::redis
