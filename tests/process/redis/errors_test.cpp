#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <variant>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/redis/contenders.hpp"
#include "redis/protocol/server_error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/ownership/owner_watch.hpp"
#include "support/safety.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {
namespace {

using support::eventually;
using support::now;
using support::RedisServer;
using support::scaled;
using support::Tls;
using ::testing::HasSubstr;
using testkit::RecordingContender;
using testkit::ServedTime;

/// A factory with one contender, and all that it was told.
class Attempt {
 public:
  explicit Attempt(RedisOptions options, const std::string& mutex = "m")
      : secret_{options.password.reveal()}, contender_{mutex} {
    options.runtime = make_runtime({.log = log_});
    if (options.contention.ttl > 5s) options.contention = short_contention();
    options.contention.retry_refused = 100ms;
    factory_ = make_redis_factory(options);
    service_ = factory_->create_mutex_contend_service(contender_);
    service_->start();
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt() {
    service_->close();
    if (!secret_.empty()) {
      EXPECT_FALSE(log_->contains(secret_)) << log_->text();
    }
  }

  bool owns() { return contender_.wait_for_acquisitions(contender_.releases() + 1, scaled(10s)); }

  /// Waits for an acquisition or a renewal to fail as expected, and looks whether it was logged.
  void expect_error(ErrorKind kind, const std::string& part) {
    std::string told;
    EXPECT_TRUE(eventually([&] {
      told.clear();
      for (const auto& event : contender_.events()) {
        const Error* error = nullptr;
        if (const auto* acquire = std::get_if<AcquireFailed>(&event)) error = &acquire->error;
        if (const auto* renewal = std::get_if<RenewalFailed>(&event)) error = &renewal->error;
        if (error == nullptr) continue;
        told += fmt::format("{}: {}\n", to_string(error->kind()), error->what());
        if (error->kind() == kind && std::string{error->what()}.find(part) != std::string::npos) {
          return true;
        }
      }
      return false;
    })) << "no such error: "
        << part << "\nbut:\n"
        << told;
    EXPECT_TRUE(eventually([&] { return log_->contains(part); })) << log_->text();
    RecordProperty(fmt::format("error-{}", ++errors_), told.substr(0, told.find('\n')));
  }

  RecordingContender& contender() { return contender_; }
  MutexContendService& service() { return *service_; }
  testkit::CapturingLogger& log() { return *log_; }
  MutexServiceFactory& factory() { return *factory_; }

 private:
  static void RecordProperty(const std::string& key, const std::string& value) {
    ::testing::Test::RecordProperty(key, value);
  }

  const std::string secret_;
  const std::shared_ptr<testkit::CapturingLogger> log_ =
      std::make_shared<testkit::CapturingLogger>();
  int errors_ = 0;
  RecordingContender contender_;
  std::unique_ptr<MutexServiceFactory> factory_;
  std::unique_ptr<MutexContendService> service_;
};

class RedisErrors : public ::testing::Test {
 protected:
  RedisOptions options() const { return support::redis_options(server_.location()); }

  /// Those of a user of its own with the password "very-secret".
  RedisOptions as_user(const std::string& user, const std::string& rights) {
    Console::Words words{"ACL", "SETUSER", user, "reset", "on", ">very-secret"};
    for (std::size_t at = 0; at < rights.size();) {
      const auto end = std::min(rights.find(' ', at), rights.size());
      words.push_back(rights.substr(at, end - at));
      at = end + 1;
    }
    console_.ask(words);
    auto result = options();
    result.user = user;
    result.password = Secret{"very-secret"};
    return result;
  }

  /// Whether the contender waits, and can be told by message.
  bool listens(const std::string& mutex, const std::string& id) {
    const std::string place = console_.value({"HGET", owner_key(mutex) + ":waiters", id});
    return place.starts_with("simba:inbox:");
  }

  const RedisServer server_;
  Console console_{server_.location()};
};

// As when it is cut off together with its clients: the other side may have another master.
TEST_F(RedisErrors, AMasterWithFewerReplicasThanItMustHaveGrantsAndRenewsNothing) {
  const auto must_have = [&](const char* replicas) {
    console_.ask({"CONFIG", "SET", "min-replicas-to-write", replicas});
  };
  must_have("1");
  Attempt attempt{options()};
  attempt.expect_error(ErrorKind::unavailable, "min-replicas-to-write");
  EXPECT_FALSE(attempt.service().is_owner()) << support::safety_violation;
  EXPECT_EQ(console_.value({"EXISTS", owner_key("m")}), "0");
  must_have("0");
  ASSERT_TRUE(attempt.owns()) << attempt.log().text();
  must_have("1");
  EXPECT_TRUE(attempt.contender().wait_for_releases(1, scaled(10s))) << "it steps down";
  must_have("0");
}

TEST_F(RedisErrors, AWrongPasswordOrUserIsNamedAndThePasswordIsNot) {
  auto wrong = options();
  wrong.password = Secret{"wrong-secret"};
  Attempt{wrong}.expect_error(ErrorKind::authentication, "user 'simba'");
  wrong.user = "nobody-of-that-name";
  Attempt{wrong}.expect_error(ErrorKind::authentication, "nobody-of-that-name");
  wrong.user.clear();
  Attempt{wrong}.expect_error(ErrorKind::authentication, "default");
  wrong.password = Secret{};
  Attempt{wrong}.expect_error(ErrorKind::authentication, "password");
}

TEST_F(RedisErrors, APasswordThatIsCorrectedOnTheServerHelpsWithoutARestart) {
  auto late = as_user("late", "~simba:* &simba:* +@all");
  late.password = Secret{"another-secret"};
  Attempt attempt{late};
  attempt.expect_error(ErrorKind::authentication, "late");

  console_.ask({"ACL", "SETUSER", "late", ">another-secret"});

  EXPECT_TRUE(attempt.owns());
}

TEST_F(RedisErrors, TheRightsThatMessagesAskForAreEnough) {
  const auto enough = as_user("enough", std::string{required_acl});
  Attempt owner{enough};
  ASSERT_TRUE(owner.owns()) << owner.log().text();
  Attempt waiter{enough};
  ASSERT_TRUE(eventually([&] {
    return console_.value({"ZCARD", line_key("m")}) == "1";
  })) << waiter.log().text();

  const auto taken = ServedTime::taken_by([&] {
    owner.service().stop();
    ASSERT_TRUE(waiter.owns()) << waiter.log().text();
  });

  EXPECT_LT(taken, scaled(500ms));
  waiter.service().stop();
  EXPECT_FALSE(owner.log().contains("NOPERM")) << owner.log().text();
  EXPECT_FALSE(waiter.log().contains("NOPERM")) << waiter.log().text();
  const auto denied = console_.ask({"ACL", "LOG"});
  EXPECT_TRUE(denied.items.empty()) << denied.items.front().texts().at(7);
}

TEST_F(RedisErrors, AMissingRightNamesTheRuleAndHelpsAtOnceWhenItIsThere) {
  const auto rights = std::string{required_acl};
  struct Case {
    std::string without;
    std::string named;
  };
  for (const auto& [without, named] :
       {Case{"-evalsha", "+evalsha"}, Case{"-set", "+set"}, Case{"resetkeys", "~simba:*"},
        Case{"resetchannels", "&simba:*"}, Case{"-publish", "+publish"}}) {
    SCOPED_TRACE(without);
    Attempt attempt{as_user("poor", rights + " " + without), unique("m")};
    attempt.expect_error(ErrorKind::permission, named);
    as_user("poor", rights);
    EXPECT_TRUE(attempt.owns()) << attempt.log().text();
  }
}

TEST_F(RedisErrors, AReleaseThatMayNotChangeTheLineLeavesNoOwnerThatTheServerDoesNotKnow) {
  Attempt owner{as_user("poor", fmt::format("{} -zrem", required_acl))};
  ASSERT_TRUE(owner.owns()) << owner.log().text();
  Attempt waiter{options()};
  const std::string id = waiter.service().contender_id();
  ASSERT_TRUE(eventually([&] { return listens("m", id); }));

  owner.service().stop();

  ASSERT_TRUE(waiter.owns()) << waiter.log().text();
  EXPECT_EQ(console_.value({"GET", owner_key("m")}), id) << support::safety_violation;
}

TEST_F(RedisErrors, AReleaseThatMayNotMakeAnotherTheOwnerTellsNobodyThatItIs) {
  for (const std::string without : {"-set", "-publish"}) {
    SCOPED_TRACE(without);
    const auto mutex = unique("m");
    Attempt owner{as_user("poor", std::string{required_acl}), mutex};
    ASSERT_TRUE(owner.owns()) << owner.log().text();
    Attempt waiter{options(), mutex};
    const std::string id = waiter.service().contender_id();
    ASSERT_TRUE(eventually([&] { return listens(mutex, id); }));
    Console spy{server_.location()};
    spy.ask({"PSUBSCRIBE", "simba:inbox:*"});
    console_.ask({"ACL", "SETUSER", "poor", without});

    owner.service().stop();

    ASSERT_TRUE(waiter.owns()) << waiter.log().text();
    EXPECT_EQ(console_.value({"GET", owner_key(mutex)}), id) << support::safety_violation;
    spy.send({"PING"});
    const auto next = spy.receive(scaled(10s));
    if (!next) FAIL() << "no answer";
    EXPECT_EQ(next->texts().front(), "pong") << "a grant was published";
  }
}

TEST_F(RedisErrors, WhoMayNotListenIsToldTheRuleAndStillGetsTheMutex) {
  const auto deaf = as_user("deaf", fmt::format("{} -subscribe", required_acl));
  Attempt owner{options()};
  ASSERT_TRUE(owner.owns());
  Attempt waiter{deaf};
  EXPECT_TRUE(eventually([&] { return waiter.log().contains("+subscribe"); }))
      << waiter.log().text();

  owner.service().stop();

  EXPECT_TRUE(waiter.contender().wait_for_acquisitions(1, scaled(short_lease + 1s)));
}

TEST_F(RedisErrors, AReplicaIsRefusedUntilItIsAMaster) {
  const RedisServer master;
  console_.ask({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
  Attempt attempt{options()};
  attempt.expect_error(ErrorKind::unavailable, "replica");

  console_.ask({"REPLICAOF", "NO", "ONE"});

  EXPECT_TRUE(attempt.owns());
}

TEST_F(RedisErrors, AServerThatIsFullKeepsWhatIsHeldAndTakesNothingNew) {
  Attempt owner{options(), "held"};
  ASSERT_TRUE(owner.owns());
  console_.ask({"CONFIG", "SET", "maxmemory", "1"});
  Attempt late{options(), "new"};

  late.expect_error(ErrorKind::unavailable, "maxmemory");
  const auto begin = now();
  ASSERT_TRUE(eventually([&] { return now() > begin + short_lease + 300ms; }));
  EXPECT_TRUE(owner.service().is_owner()) << owner.log().text();
  EXPECT_EQ(owner.contender().releases(), 0U);
  owner.service().stop();
  EXPECT_EQ(console_.value({"EXISTS", owner_key("held")}), "0") << owner.log().text();
  EXPECT_EQ(late.contender().acquisitions(), 0U);

  console_.ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(late.owns());
}

TEST_F(RedisErrors, ABusyServerKeepsWhatIsHeldWhenItComesBackInTime) {
  ContentionOptions contention;
  contention.ttl = 3'000ms;
  contention.transition = 1'000ms;
  auto with = options();
  with.contention = contention;
  console_.ask({"CONFIG", "SET", "busy-reply-threshold", "50"});
  Attempt owner{with, "held"};
  ASSERT_TRUE(owner.owns());
  Console other{server_.location()};
  other.send({"EVAL", "while true do end", "0"});
  Attempt late{with, "new"};

  late.expect_error(ErrorKind::unavailable, "SCRIPT KILL");
  EXPECT_TRUE(eventually([&] { return owner.log().contains("SCRIPT KILL"); }));
  console_.ask({"SCRIPT", "KILL"});

  EXPECT_TRUE(late.owns());
  EXPECT_TRUE(owner.service().is_owner());
  EXPECT_EQ(owner.contender().releases(), 0U);
}

TEST_F(RedisErrors, AKeyOfAnotherTypeIsNamedAndHelpsNobodyIn) {
  for (const std::string suffix : {"", ":fence", ":contender", ":line", ":waiters"}) {
    SCOPED_TRACE(suffix);
    const auto mutex = unique("type");
    console_.ask({"SET", owner_key(mutex), "someone", "PX", "60000"});
    console_.ask({"DEL", owner_key(mutex) + suffix});
    console_.ask({"LPUSH", owner_key(mutex) + suffix, "x"});
    Attempt attempt{options(), mutex};
    attempt.expect_error(ErrorKind::configuration, "simba:");
    EXPECT_EQ(attempt.contender().acquisitions(), 0U);

    console_.ask({"DEL", owner_key(mutex) + suffix, owner_key(mutex)});
    EXPECT_TRUE(attempt.owns()) << attempt.log().text();
  }
}

TEST_F(RedisErrors, AKeyThatBecomesOneOfAnotherTypeEndsTheOwnershipInTime) {
  Attempt owner{options()};
  ASSERT_TRUE(owner.owns());
  console_.ask({"DEL", owner_key("m")});
  console_.ask({"LPUSH", owner_key("m"), "x"});
  const auto begin = now();

  EXPECT_LT(support::last_seen_owning(owner.service()) - begin, short_lease);
  EXPECT_TRUE(owner.contender().wait_for_releases(1, scaled(10s)));
  owner.expect_error(ErrorKind::configuration, "simba:");
}

TEST_F(RedisErrors, ADatabaseThatIsNotThereIsNamed) {
  auto out_of_range = options();
  out_of_range.database = 99;
  Attempt{out_of_range}.expect_error(ErrorKind::configuration, "database 99");
}

}  // namespace
}  // namespace simba::redis::test
