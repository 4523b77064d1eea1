#include "redis/routing/replicated_batches.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/protocol/command.hpp"
#include "unit/redis/fake_dialer.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class RedisReplicatedBatches : public testing::Test {
 protected:
  void send(const std::string& word, std::size_t replies = 1) {
    batches_->send(command({word}), replies, [this, word](const Replies& answer) {
      std::string line = word + ":";
      if (const auto* error = std::get_if<Error>(&answer)) {
        line += std::string{" "} + error->what();
      } else {
        for (const Reply& reply : std::get<0>(answer)) {
          line +=
              " " + (reply.is(Reply::Type::integer) ? std::to_string(reply.integer) : reply.text);
        }
      }
      answers_.push_back(line);
    });
    fake_.world.run_ready();
  }

  FakeConnection& connection() { return fake_.connections.last(); }

  FakeDialer fake_;
  std::vector<std::string> answers_;
  std::shared_ptr<ReplicatedBatches> batches_ =
      std::make_shared<ReplicatedBatches>(std::make_shared<CommandLink>(fake_.dialer(), nullptr),
                                          Confirmation{.replicas = 2, .timeout = 300ms});
};

TEST_F(RedisReplicatedBatches, WhatComesWhileOneIsUnderWayGoesTogetherWithOneWait) {
  send("A");
  send("B", 2);
  send("C");
  EXPECT_THAT(connection().take_sent(), ElementsAre("A", "WAIT 2 300"));
  connection().answer(std::vector<Reply>{text_reply("a"), integer_reply(2)});
  EXPECT_THAT(answers_, ElementsAre("A: a 2"));
  EXPECT_THAT(connection().take_sent(), ElementsAre("B", "C", "WAIT 2 300"));
  connection().answer(
      std::vector<Reply>{text_reply("b1"), text_reply("b2"), text_reply("c"), integer_reply(1)});
  EXPECT_THAT(answers_, ElementsAre("A: a 2", "B: b1 b2 1", "C: c 1"));
  EXPECT_THAT(connection().take_sent(), IsEmpty());
  send("D");
  EXPECT_THAT(connection().take_sent(), ElementsAre("D", "WAIT 2 300"));
}

TEST_F(RedisReplicatedBatches, AFailureIsToldToAllOfTheBatchAndTheNextOneGoesOn) {
  send("A");
  send("B");
  send("C");
  connection().refuse({ErrorKind::timeout, "no answer"});
  EXPECT_THAT(answers_, ElementsAre("A: no answer"));
  connection().refuse({ErrorKind::timeout, "no answer"});
  EXPECT_THAT(answers_, ElementsAre("A: no answer", "B: no answer", "C: no answer"));
}

}  // namespace
}  // namespace simba::redis
