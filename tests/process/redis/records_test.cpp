#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/redis/console.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/redis/redis_factory.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {
namespace {

using support::RedisServer;
using support::scaled;
using ::testing::HasSubstr;
using Outcome = RecordAnswer::Outcome;

/// What all stores promise of records is in the contract; here is what is Redis's own.
class RedisRecords : public ::testing::Test {
 protected:
  RedisOptions options() const { return support::redis_options(server_.location()); }

  static RecordResult write(MutexServiceFactory& factory, const RecordWrite& write) {
    const auto result = std::make_shared<std::promise<RecordResult>>();
    auto future = result->get_future();
    factory.records()->write(write,
                             [result](RecordResult it) { result->set_value(std::move(it)); });
    if (future.wait_for(scaled(10s)) != std::future_status::ready) return no_answer();
    return future.get();
  }

  static RecordResult read(MutexServiceFactory& factory, const std::string& mutex) {
    const auto result = std::make_shared<std::promise<RecordResult>>();
    auto future = result->get_future();
    factory.records()->read(mutex, [result](RecordResult it) { result->set_value(std::move(it)); });
    if (future.wait_for(scaled(10s)) != std::future_status::ready) return no_answer();
    return future.get();
  }

  static Error no_answer() { return {ErrorKind::timeout, "no answer"}; }

  RedisOptions as_user(const std::string& user, const Console::Words& rights) {
    Console::Words words{"ACL", "SETUSER", user, "reset", "on", ">very-secret"};
    words.insert(words.end(), rights.begin(), rights.end());
    console_.ask(words);
    auto result = options();
    result.user = user;
    result.password = Secret{"very-secret"};
    return result;
  }

  const RedisServer server_;
  Console console_{server_.location()};
};

TEST_F(RedisRecords, AreHashesThatOutliveTheirOwners) {
  const auto factory = make_redis_factory(options());
  SimbaLocker locker{"m", *factory};
  locker.acquire();
  const RecordOwner owner{.contender_id = locker.contender_id(),
                          .fencing_token = locker.fencing_token()};
  const auto written =
      std::get<RecordAnswer>(write(*factory, {.mutex = "m", .text = "kept", .owner = owner}));
  EXPECT_EQ(written.outcome, Outcome::written);
  locker.close();
  EXPECT_EQ(console_.value({"HGET", "simba:{m}:record", "text"}), "kept");
  EXPECT_EQ(console_.value({"HGET", "simba:{m}:record", "version"}), "1");
  EXPECT_EQ(console_.value({"TTL", "simba:{m}:record"}), "-1");
}

TEST_F(RedisRecords, AKeyOfAnotherTypeIsAnErrorThatSaysSoAndIsNotOverwritten) {
  const auto factory = make_redis_factory(options());
  console_.ask({"SET", "simba:{m}:record", "of someone else"});
  for (const RecordResult& result :
       {read(*factory, "m"), write(*factory, {.mutex = "m", .text = "new"})}) {
    const auto* const error = std::get_if<Error>(&result);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->kind(), ErrorKind::configuration);
    EXPECT_THAT(error->what(), HasSubstr("data that Simba did not write"));
  }
  EXPECT_EQ(console_.value({"GET", "simba:{m}:record"}), "of someone else");
}

TEST_F(RedisRecords, WhoMayNotUseTheirKeysIsToldTheRuleAndOwnsMutexesAllTheSame) {
  const auto poor =
      as_user("poor", {"~simba:{?}", "~simba:{?}:[cflw]*", "&simba:*", "+@all", "-@dangerous"});
  const auto factory = make_redis_factory(poor);
  const auto result = write(*factory, {.mutex = "m", .text = "new"});
  const auto* const error = std::get_if<Error>(&result);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->kind(), ErrorKind::permission) << error->what();
  EXPECT_THAT(error->what(), HasSubstr("~simba:*"));
  SimbaLocker locker{"m", *factory};
  EXPECT_NO_THROW(locker.acquire(scaled(10s)));
}

TEST_F(RedisRecords, AFullServerRefusesNewOnesAndStillReads) {
  const auto factory = make_redis_factory(options());
  ASSERT_EQ(std::get<RecordAnswer>(write(*factory, {.mutex = "m", .text = "old"})).outcome,
            Outcome::written);
  console_.ask({"CONFIG", "SET", "maxmemory", "1"});
  const auto result = write(*factory, {.mutex = "m", .text = "new", .replaces = 1});
  const auto* const error = std::get_if<Error>(&result);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->kind(), ErrorKind::unavailable);
  EXPECT_EQ(std::get<RecordAnswer>(read(*factory, "m")).record.text, "old");
}

}  // namespace
}  // namespace simba::redis::test
