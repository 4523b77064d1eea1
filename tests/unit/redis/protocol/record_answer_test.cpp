#include "redis/protocol/record_answer.hpp"

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/redis/fake_connection.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Outcome = RecordAnswer::Outcome;

RecordResult parsed(const std::string& outcome, const std::string& version) {
  return parse_record_answer(array_reply({text_reply(outcome), text_reply(version),
                                          text_reply("text"), integer_reply(1'700'000'000'007)}));
}

TEST(RedisRecordAnswer, HasTheRecordAndTheServersTime) {
  const auto answer = std::get<RecordAnswer>(parsed("changed", "12"));
  EXPECT_EQ(answer.outcome, Outcome::changed);
  EXPECT_EQ(answer.record.version, 12U);
  EXPECT_EQ(answer.record.text, "text");
  EXPECT_EQ(answer.record.now, SystemTime{1'700'000'000'007ms});
}

TEST(RedisRecordAnswer, KnowsEveryOutcome) {
  EXPECT_EQ(std::get<RecordAnswer>(parsed("found", "0")).outcome, Outcome::found);
  EXPECT_EQ(std::get<RecordAnswer>(parsed("written", "1")).outcome, Outcome::written);
  EXPECT_EQ(std::get<RecordAnswer>(parsed("not_owned", "1")).outcome, Outcome::not_owned);
  EXPECT_EQ(std::get<RecordAnswer>(parsed("too_early", "1")).outcome, Outcome::too_early);
}

TEST(RedisRecordAnswer, AVersionThatIsNoNumberIsToldApartFromAServerThatRunsNoScripts) {
  const auto error = std::get<Error>(parsed("changed", "latest"));
  EXPECT_EQ(error.kind(), ErrorKind::configuration);
  EXPECT_THAT(error.what(), HasSubstr("latest"));
}

TEST(RedisRecordAnswer, AnythingElseIsAnError) {
  const std::vector<Reply> replies{
      nil_reply(),
      text_reply("written"),
      array_reply({}),
      array_reply({text_reply("written"), text_reply("1"), text_reply("text")}),
      array_reply({text_reply("written"), text_reply("1"), text_reply("text"), text_reply("7")}),
      array_reply({text_reply("written"), text_reply("1"), nil_reply(), integer_reply(7)}),
      array_reply({text_reply("written"), text_reply("1"), text_reply("text"), integer_reply(-1)}),
      array_reply({text_reply("lost"), text_reply("1"), text_reply("text"), integer_reply(7)}),
  };
  for (const Reply& reply : replies) {
    EXPECT_EQ(std::get<Error>(parse_record_answer(reply)).kind(), ErrorKind::internal);
  }
}

}  // namespace
}  // namespace simba::redis
