#include "redis/routing/record_request.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>
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
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using Outcome = RecordAnswer::Outcome;

Reply answered(const std::string& outcome) {
  return array_reply(
      {text_reply(outcome), text_reply("8"), text_reply("new"), integer_reply(1'700'000'000'000)});
}

/// Requests to one server, or to a cluster, that the test plays.
class RedisRecordRequest : public testing::Test {
 protected:
  void use_single() {
    context_->router = std::make_shared<FixedRouter>(std::make_shared<Node>(
        fake_.dialer(), Subscriptions::Grants::count, Endpoint{}, context_->confirmation));
  }

  void use_cluster() {
    context_->router = std::make_shared<ClusterRouter>(
        std::vector<Endpoint>{{.port = 7000}},
        [this](const Endpoint& endpoint) {
          Dialer dialer = fake_.dialer();
          auto source = std::make_shared<FakeSource>();
          source->endpoint = endpoint;
          dialer.source = source;
          return std::make_shared<Node>(dialer, Subscriptions::Grants::count, endpoint);
        },
        fake_.world.runtime(), [] {});
  }

  RecordHandler handler() {
    return [this](RecordResult result) { results_.push_back(std::move(result)); };
  }

  void read() {
    std::make_shared<RecordRequest>(context_, "m", handler())->send();
    fake_.world.run_ready();
  }

  void write() {
    const RecordWrite write{.mutex = "m",
                            .text = "new",
                            .replaces = 7,
                            .owner = RecordOwner{.contender_id = "me", .fencing_token = 5},
                            .not_before = SystemTime{1'234ms}};
    std::make_shared<RecordRequest>(context_, write, handler())->send();
    fake_.world.run_ready();
  }

  FakeConnection& server() {
    fake_.world.run_ready();
    return fake_.connections.last();
  }

  const RecordAnswer& answer() const { return std::get<RecordAnswer>(results_.at(0)); }
  const Error& error() const { return std::get<Error>(results_.at(0)); }

  FakeDialer fake_;
  std::shared_ptr<RequestContext> context_ = std::make_shared<RequestContext>();
  std::vector<RecordResult> results_;
};

TEST_F(RedisRecordRequest, NamesEveryKeyThatItTouchesAndNoOther) {
  use_single();
  read();
  EXPECT_THAT(server().take_sent(),
              ElementsAre("EVALSHA " + hash_of(Script::record) + " 1 simba:{m}:record"));
  write();
  EXPECT_THAT(server().take_sent(),
              ElementsAre("EVALSHA " + hash_of(Script::record) +
                          " 3 simba:{m}:record simba:{m} simba:{m}:fence new 7 1234 me 5"));
  std::make_shared<RecordRequest>(context_, RecordWrite{.mutex = "m", .text = "new"}, handler())
      ->send();
  EXPECT_THAT(server().take_sent(),
              ElementsAre("EVALSHA " + hash_of(Script::record) + " 1 simba:{m}:record new 0 "));
}

TEST_F(RedisRecordRequest, SendsTheWholeScriptToAServerThatDoesNotKnowIt) {
  use_single();
  write();
  server().take_sent();
  server().answer(error_reply("NOSCRIPT No matching script. Please use EVAL."));
  EXPECT_THAT(server().take_sent(), ElementsAre(StartsWith("EVAL -- ")));
  server().answer(answered("written"));
  EXPECT_EQ(answer().outcome, Outcome::written);
  EXPECT_EQ(answer().record.version, 8U);
}

TEST_F(RedisRecordRequest, FollowsASlotThatHasMoved) {
  use_cluster();
  write();
  server().answer(error_reply(fmt::format("MOVED {} 127.0.0.1:7002", slot_of(record_key("m")))));
  fake_.world.run_ready();
  for (const auto& connection : std::vector{fake_.connections.opened}) {
    if (connection->endpoint.port != 7002) continue;
    ASSERT_THAT(connection->take_sent(), testing::Contains(StartsWith("EVALSHA")));
    connection->answer(answered("written"));
  }
  EXPECT_EQ(answer().outcome, Outcome::written);
}

TEST_F(RedisRecordRequest, AWriteWhoseConnectionBreaksIsInDoubtAndAnsweredOnce) {
  use_single();
  write();
  server().become_ready();
  server().fail({ErrorKind::in_doubt, "lost the connection"});
  fake_.world.run_ready();
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_TRUE(error().in_doubt());
  context_->router->close();
  EXPECT_THAT(results_, SizeIs(1));
}

TEST_F(RedisRecordRequest, AReplyToAWriteThatMakesNoSenseIsInDoubt) {
  use_single();
  write();
  server().answer(status_reply("OK"));
  EXPECT_EQ(error().kind(), ErrorKind::in_doubt);
}

TEST_F(RedisRecordRequest, AReplyToAReadThatMakesNoSenseIsNotInDoubt) {
  use_single();
  read();
  server().answer(status_reply("OK"));
  EXPECT_EQ(error().kind(), ErrorKind::internal);
}

TEST_F(RedisRecordRequest, AKeyOfAnotherTypeIsAnErrorThatSaysSo) {
  use_single();
  write();
  server().answer(error_reply("WRONGTYPE Operation against a key holding the wrong kind of value"));
  EXPECT_EQ(error().kind(), ErrorKind::configuration);
  EXPECT_THAT(error().what(), HasSubstr("data that Simba did not write"));
}

TEST_F(RedisRecordRequest, AMissingRightIsAnErrorThatNamesTheRule) {
  use_single();
  write();
  server().answer(error_reply("NOPERM No permissions to access a key"));
  EXPECT_EQ(error().kind(), ErrorKind::permission);
  EXPECT_THAT(error().what(), HasSubstr("ACL SETUSER <user> ~simba:*"));
}

TEST_F(RedisRecordRequest, AWriteCountsOnceEnoughReplicasHaveConfirmedIt) {
  context_->confirmation = {.replicas = 2, .timeout = 300ms};
  use_single();
  write();
  EXPECT_THAT(server().take_sent(), ElementsAre(StartsWith("EVALSHA"), "WAIT 2 300"));
  server().answer(std::vector<Reply>{answered("written"), integer_reply(2)});
  EXPECT_EQ(answer().outcome, Outcome::written);
}

TEST_F(RedisRecordRequest, WithTooFewReplicasAWriteIsInDoubt) {
  context_->confirmation = {.replicas = 2, .timeout = 300ms};
  use_single();
  write();
  server().answer(std::vector<Reply>{answered("written"), integer_reply(1)});
  EXPECT_EQ(error().kind(), ErrorKind::in_doubt);
  EXPECT_THAT(error().what(), HasSubstr("1 of 2 replicas"));
}

TEST_F(RedisRecordRequest, AServerThatDoesNotKnowWaitLeavesAWriteInDoubt) {
  context_->confirmation = {.replicas = 1, .timeout = 300ms};
  use_single();
  write();
  server().answer(std::vector<Reply>{answered("written"), error_reply("ERR unknown command")});
  EXPECT_EQ(error().kind(), ErrorKind::in_doubt);
}

TEST_F(RedisRecordRequest, ReplicasDoNotMatterWhereNothingWasWritten) {
  context_->confirmation = {.replicas = 2, .timeout = 300ms};
  use_single();
  write();
  server().answer(std::vector<Reply>{answered("not_owned"), integer_reply(0)});
  EXPECT_EQ(answer().outcome, Outcome::not_owned);
  server().take_sent();
  read();
  EXPECT_THAT(server().take_sent(), ElementsAre(StartsWith("EVALSHA")));
}

}  // namespace
}  // namespace simba::redis
