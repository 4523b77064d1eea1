#include "redis/connection/handshake.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/protocol/command.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string where = "Redis at 127.0.0.1:6379";

Reply status(std::string text) { return {Reply::Type::status, std::move(text)}; }
Reply refused_with(std::string text) { return {Reply::Type::error, std::move(text)}; }
Reply bulk(std::string text) { return {Reply::Type::string, std::move(text)}; }

Error error_of(const ConnectionSettings& settings, const Reply& reply) {
  Handshake handshake{settings, where};
  try {
    handshake.take(reply);
  } catch (const Error& error) {
    return error;
  }
  return Error{ErrorKind::illegal_state, "no error"};
}

ConnectionSettings with_password(std::string password) {
  ConnectionSettings settings;
  settings.password = Secret{std::move(password)};
  return settings;
}

TEST(RedisHandshake, PingsWhereThereIsNothingElseToSay) {
  const ConnectionSettings settings;
  Handshake handshake{settings, where};
  EXPECT_EQ(handshake.commands(), command({"PING"}));
  EXPECT_FALSE(handshake.done());
  handshake.take(status("PONG"));
  EXPECT_TRUE(handshake.done());
}

TEST(RedisHandshake, LogsInAUserWithoutPassword) {
  ConnectionSettings settings;
  settings.user = "bob";
  EXPECT_EQ((Handshake{settings, where}.commands()), command({"AUTH", "bob", ""}));
}

TEST(RedisHandshake, NeverShowsAPasswordThatTheServerRepeats) {
  const auto settings = with_password("geheim");
  const auto unknown = error_of(
      settings, refused_with("ERR unknown command 'AUTH', with args beginning with: 'gehei"));
  EXPECT_EQ(unknown.kind(), ErrorKind::authentication);
  EXPECT_THAT(unknown.what(), AllOf(HasSubstr("'default'"), Not(HasSubstr("gehei"))));
  EXPECT_THAT(error_of(settings, refused_with("ERR not geheim enough")).what(),
              Not(HasSubstr("geheim")));
}

TEST(RedisHandshake, SaysThatAPasswordIsNeeded) {
  ConnectionSettings settings;
  settings.client_name = "me";
  EXPECT_EQ(error_of(settings, refused_with("NOAUTH Authentication required.")).kind(),
            ErrorKind::authentication);
  EXPECT_EQ(error_of({}, refused_with("NOAUTH Authentication required.")).kind(),
            ErrorKind::authentication);
}

TEST(RedisHandshake, PassesOnWhereTheNameIsRefused) {
  ConnectionSettings settings;
  settings.client_name = "a b";
  EXPECT_EQ(error_of(settings, refused_with("ERR Client names cannot contain spaces")).kind(),
            ErrorKind::illegal_state);
  EXPECT_EQ(error_of(settings, refused_with("NOPERM this user has no permissions")).kind(),
            ErrorKind::illegal_state);
}

TEST(RedisHandshake, TellsAFullServerFromAWrongPassword) {
  for (const auto& settings : {ConnectionSettings{}, with_password("geheim")}) {
    EXPECT_EQ(error_of(settings, refused_with("ERR max number of clients reached")).kind(),
              ErrorKind::unavailable);
    EXPECT_EQ(error_of(settings, refused_with("DENIED Redis is running in protected mode")).kind(),
              ErrorKind::configuration);
    EXPECT_EQ(error_of(settings, refused_with("LOADING Redis is loading the dataset")).kind(),
              ErrorKind::unavailable);
  }
}

TEST(RedisHandshake, NamesTheDatabaseThatIsNotThere) {
  ConnectionSettings settings;
  settings.database = 99;
  const auto error = error_of(settings, refused_with("ERR DB index is out of range"));
  EXPECT_EQ(error.kind(), ErrorKind::configuration);
  EXPECT_THAT(error.what(), HasSubstr("database 99"));
}

TEST(RedisHandshake, AServerThatRepeatsThePasswordDoesNotGetItIntoAMessage) {
  ConnectionSettings settings = with_password("geheim");
  settings.database = 99;
  settings.masters_only = true;
  Handshake selects{settings, "Redis"};
  selects.take(status("OK"));
  try {
    selects.take(refused_with("ERR DB index geheim is out of geheim range"));
    ADD_FAILURE() << "it was refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("index *** is"), Not(HasSubstr("geheim"))));
  }
  settings.database = 0;
  Handshake asks{settings, "Redis"};
  asks.take(status("OK"));
  try {
    asks.take({Reply::Type::array, {}, 0, {bulk("ageheim")}});
    ADD_FAILURE() << "it is no master";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("a***"), Not(HasSubstr("geheim"))));
  }
}

TEST(RedisHandshake, RefusesAReplicaWhereAMasterIsWanted) {
  ConnectionSettings settings;
  settings.masters_only = true;
  const Reply replica{Reply::Type::array, {}, 0, {bulk("slave"), bulk("10.0.0.1")}};
  const auto error = error_of(settings, replica);
  EXPECT_EQ(error.kind(), ErrorKind::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("is not a master but a slave"));
  EXPECT_EQ(error_of(settings, status("OK")).kind(), ErrorKind::configuration);
  EXPECT_EQ(error_of(settings, {Reply::Type::array}).kind(), ErrorKind::configuration);
}

}  // namespace
}  // namespace simba::redis
