#include "redis/protocol/server_error.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::redis {
namespace {

using Code = ServerError::Code;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* server_place = "Redis at 127.0.0.1:6379";

Code code_of(std::string_view text) { return parse_server_error(text).code; }

Error error_of(std::string_view text) { return to_error(parse_server_error(text), server_place); }

struct Sample {
  const char* text;
  Code code;
  ErrorKind kind;
  const char* advice;  ///< a part of it
};

class RedisServerErrorOf : public testing::TestWithParam<Sample> {};

TEST_P(RedisServerErrorOf, HasACodeAKindAndAdvice) {
  const Sample& sample = GetParam();
  EXPECT_EQ(code_of(sample.text), sample.code) << sample.text;
  const Error error = error_of(sample.text);
  EXPECT_EQ(error.kind(), sample.kind) << sample.text;
  EXPECT_THAT(error.what(), AllOf(HasSubstr(server_place), HasSubstr(sample.advice)));
}

// As Redis 7.0 says them, unless noted.
INSTANTIATE_TEST_SUITE_P(
    EveryText, RedisServerErrorOf,
    testing::Values(
        Sample{"NOSCRIPT No matching script. Please use EVAL.", Code::no_script,
               ErrorKind::unavailable, "sending it again"},
        Sample{"MOVED 3999 127.0.0.1:6381", Code::moved, ErrorKind::unavailable, "`topology`"},
        Sample{"ASK 3999 127.0.0.1:6381", Code::ask, ErrorKind::unavailable,
               "slot has been migrated"},
        Sample{"TRYAGAIN Multiple keys request during rehashing of slot", Code::try_again,
               ErrorKind::unavailable, "; retrying"},
        Sample{"CLUSTERDOWN Hash slot not served", Code::cluster_down, ErrorKind::unavailable,
               "CLUSTER INFO"},
        Sample{"CROSSSLOT Keys in request don't hash to the same slot", Code::cross_slot,
               ErrorKind::invalid_argument, "must not begin with '}'"},
        Sample{"READONLY You can't write against a read only replica. script: ff96, on "
               "@user_script:1.",
               Code::read_only, ErrorKind::unavailable, "a master is required"},
        Sample{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
               Code::master_down, ErrorKind::unavailable, "lost its master"},
        Sample{"LOADING Redis is loading the dataset in memory", Code::loading,
               ErrorKind::unavailable, "from disk"},
        Sample{"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN "
               "NOSAVE.",
               Code::busy, ErrorKind::unavailable, "stop it with SCRIPT KILL"},
        Sample{"OOM command not allowed when used memory > 'maxmemory'.", Code::out_of_memory,
               ErrorKind::unavailable, "raise maxmemory"},
        Sample{"NOREPLICAS Not enough good replicas to write.", Code::no_replicas,
               ErrorKind::unavailable, "min-replicas-to-write"},
        Sample{"MISCONF Redis is configured to save RDB snapshots, but ...", Code::misconfigured,
               ErrorKind::unavailable, "cannot write to disk"},
        Sample{"NOAUTH Authentication required.", Code::not_authenticated,
               ErrorKind::authentication, "set the options `user` and `password`"},
        Sample{"DENIED Redis is running in protected mode because ...", Code::not_authenticated,
               ErrorKind::authentication, "in protected mode; set a password"},
        Sample{"WRONGPASS invalid username-password pair or user is disabled.",
               Code::wrong_password, ErrorKind::authentication, "check the options `user`"},
        Sample{"ERR AUTH <password> called without any password configured for the default user. "
               "Are you sure your configuration is correct?",
               Code::wrong_password, ErrorKind::authentication, "omit the option `password`"},
        Sample{"ERR Client sent AUTH, but no password is set",  // 5
               Code::wrong_password, ErrorKind::authentication, "omit the option `password`"},
        Sample{"ERR invalid password", Code::wrong_password,  // 5
               ErrorKind::authentication, "check the options `user`"},
        Sample{"WRONGTYPE Operation against a key holding the wrong kind of value script: df94, on "
               "@user_script:1.",
               Code::wrong_type, ErrorKind::configuration, "delete it with DEL"},
        Sample{"ERR unknown command 'evalsha', with args beginning with: 'a'",
               Code::unknown_command, ErrorKind::unsupported, "does not support a command"},
        Sample{"ERR unknown subcommand 'numsub'. Try PUBSUB HELP.", Code::unknown_command,
               ErrorKind::unsupported, "does not support a command"},
        Sample{"ERR Unknown Redis command called from script script: 7746, on @user_script:1.",
               Code::unknown_command, ErrorKind::unsupported, "does not support a command"},
        Sample{"ERR max number of clients reached", Code::other, ErrorKind::unavailable,
               "maxclients"},
        Sample{"ERR Script killed by user with SCRIPT KILL... script: 694a, on @user_script:1.",
               Code::other, ErrorKind::unavailable, "; retrying"},
        Sample{"ERR DB index is out of range", Code::other, ErrorKind::configuration,
               "check the option `database`"},
        Sample{"ERR SELECT is not allowed in cluster mode", Code::other, ErrorKind::configuration,
               "omit the option `database`"},
        Sample{"ERR This instance has cluster support disabled", Code::other,
               ErrorKind::configuration, "check the option `topology`"}));

TEST(RedisServerError, AMissingPermissionForACommandNamesAllRules) {
  for (const char* text :
       {"NOPERM this user has no permissions to run the 'script|load' command",
        "NOPERM this user has no permissions to run the 'pubsub|channels' command",
        "NOPERM this user has no permissions to run the 'keys' command or its subcommand",
        "ERR The user executing the script can't run this command or subcommand script: b4e5, on "
        "@user_script:1.",
        "ERR ACL failure in script: User app has no permissions to run the 'set' command script: "
        "b4e5, on @user_script:1.",
        "ERR Error running script (call to f_b4e5): @user_script:1: @user_script: 1: The user "
        "executing the script can't run this command or subcommand"}) {
    EXPECT_EQ(code_of(text), Code::no_permission) << text;
    EXPECT_EQ(error_of(text).kind(), ErrorKind::permission) << text;
    EXPECT_THAT(error_of(text).what(), HasSubstr("ACL SETUSER <user> " + std::string{required_acl}))
        << text;
  }
}

TEST(RedisServerError, AMissingPermissionForAKeyOrAChannelNamesItsRule) {
  for (const char* text :
       {"NOPERM this user has no permissions to access one of the keys used as arguments",
        "NOPERM User u has no permissions to access the 'simba:{m}' key",
        "ERR ACL failure in script: No permissions to access a key script: 6b1b, on "
        "@user_script:1.",
        "ERR The user executing the script can't access at least one of the keys mentioned in the "
        "command arguments script: 6b1b, on @user_script:1."}) {
    EXPECT_EQ(code_of(text), Code::no_permission) << text;
    EXPECT_THAT(error_of(text).what(), AllOf(HasSubstr("~simba:*"), Not(HasSubstr("&simba:*"))));
  }
  for (const char* text :
       {"NOPERM this user has no permissions to access one of the channels used as arguments",
        "NOPERM User u has no permissions to access the 'simba:{m}' channel",
        "ERR ACL failure in script: No permissions to access a channel script: cd68, on "
        "@user_script:1.",
        "ERR The user executing the script can't publish to the channel mentioned in the command "
        "script: cd68, on @user_script:1."}) {
    EXPECT_EQ(code_of(text), Code::no_permission) << text;
    EXPECT_THAT(error_of(text).what(), AllOf(HasSubstr("&simba:*"), Not(HasSubstr("~simba:*"))));
  }
}

TEST(RedisServerError, AnErrorThatAScriptMetIsKnownByTheErrorInside) {
  const std::string prefix = "ERR Error running script (call to f_0123): ";
  EXPECT_EQ(code_of(prefix + "@user_script:5: WRONGTYPE Operation against a key"),
            Code::wrong_type);
  EXPECT_EQ(code_of(prefix + "@user_script:1: @user_script: 1: -READONLY You can't write"),
            Code::read_only);
  EXPECT_EQ(code_of(prefix + "@user_script:12: -OOM command not allowed"), Code::out_of_memory);
  EXPECT_EQ(code_of(prefix + "@user_script:12: some fault in Lua"), Code::other);
  EXPECT_EQ(code_of(prefix + "@user_script:"), Code::other);
  EXPECT_EQ(code_of(prefix + "@user_script:x: OOM"), Code::other);
  EXPECT_EQ(code_of(prefix + "@user_script:1"), Code::other);
  EXPECT_EQ(code_of(prefix + "@user_script:1:  "), Code::other);
}

TEST(RedisServerError, ARedirectionNamesSlotAndServer) {
  const ServerError moved = parse_server_error("MOVED 3999 127.0.0.1:6381");
  EXPECT_EQ(moved.slot, 3'999);
  EXPECT_EQ(moved.endpoint, (Endpoint{"127.0.0.1", 6'381}));
  const ServerError ask = parse_server_error("ASK 16383 node-3.example:7000");
  EXPECT_EQ(ask.slot, 16'383);
  EXPECT_EQ(ask.endpoint, (Endpoint{"node-3.example", 7'000}));
}

TEST(RedisServerError, TheServerOfARedirectionMayBeAnIpv6AddressOrTheSameHost) {
  EXPECT_EQ(parse_server_error("MOVED 0 ::1:6381").endpoint, (Endpoint{"::1", 6'381}));
  EXPECT_EQ(parse_server_error("MOVED 0 2001:db8::5:65535").endpoint,
            (Endpoint{"2001:db8::5", 65'535}));
  EXPECT_EQ(parse_server_error("MOVED 0 :6381").endpoint, (Endpoint{"", 6'381}));
}

TEST(RedisServerError, ARedirectionThatMakesNoSenseIsNone) {
  for (const char* text :
       {"MOVED", "MOVED ", "MOVED 1", "MOVED 1 ", "MOVED 1 host", "MOVED 1 host:", "MOVED 1 host:0",
        "MOVED 1 host:65536", "MOVED 1 host:-1", "MOVED 1 host:6379x", "MOVED 16384 host:6379",
        "MOVED -1 host:6379", "MOVED x host:6379", "MOVED 1 a host:6379", "MOVED  1 host:6379",
        "ASK 1 ho\nst:6379", "MOVED 1 host:6379 more"}) {
    const ServerError error = parse_server_error(text);
    EXPECT_EQ(error.code, Code::other) << text;
    EXPECT_EQ(error.endpoint, Endpoint{}) << text;
    EXPECT_EQ(error.slot, 0) << text;
    EXPECT_EQ(to_error(error, server_place).kind(), ErrorKind::internal) << text;
  }
}

TEST(RedisServerError, WhatIsNotKnownIsKeptAsItIs) {
  for (const char* text : {"", " ", "ERR", "ERR syntax error", "BUSYKEY Target key name already",
                           "noauth", "NOPROTO unsupported protocol version"}) {
    EXPECT_EQ(code_of(text), Code::other) << text;
    EXPECT_EQ(error_of(text).kind(), ErrorKind::internal) << text;
  }
  EXPECT_STREQ(error_of("ERR syntax error").what(), "Redis at 127.0.0.1:6379: ERR syntax error");
}

TEST(RedisServerError, ArgumentsThatTheServerRepeatsAreLeftOut) {
  constexpr const char* text =
      "ERR unknown command 'AUTH', with args beginning with: 'user' 'secret' ";
  EXPECT_EQ(parse_server_error(text).text, "ERR unknown command 'AUTH'");
  EXPECT_THAT(error_of(text).what(), Not(HasSubstr("secret")));
}

TEST(RedisServerError, ALongOrWildTextIsCutAndTamed) {
  EXPECT_THAT(error_of("ERR a\x1b[31m\r\nb\xff").what(),
              HasSubstr("ERR a\\x1b[31m\\x0d\\x0ab\\xff"));
  EXPECT_LT(std::string_view{error_of("OOM " + std::string(100'000, 'x')).what()}.size(), 400U);
}

TEST(RedisServerError, AnotherServerOrLogInNeedsAnotherConnection) {
  for (const Code code :
       {Code::read_only, Code::master_down, Code::not_authenticated, Code::wrong_password}) {
    EXPECT_TRUE(ends_connection(code));
  }
  for (const Code code :
       {Code::no_script, Code::moved, Code::ask, Code::loading, Code::busy, Code::out_of_memory,
        Code::no_permission, Code::wrong_type, Code::other}) {
    EXPECT_FALSE(ends_connection(code));
  }
}

}  // namespace
}  // namespace simba::redis
