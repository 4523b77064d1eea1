#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/connection/connection.hpp"
#include "redis/connection/credentials_calls.hpp"
#include "simba/core/runtime.hpp"
#include "simba/redis/redis_factory.hpp"
#include "simba/simba.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "support/patience.hpp"
#include "unit/core/gate.hpp"
#include "unit/redis/connection_fixture.hpp"
#include "unit/redis/fake_server.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A callback that takes as long as the test wants.
struct CredentialsOfARedisConnection : testing::Test {
  ~CredentialsOfARedisConnection() override { go_on.open(); }

  ConnectionSettings settings() {
    ConnectionSettings settings = patient();
    settings.user = "app";
    settings.credentials = calls;
    return settings;
  }

  /// Connects and gives up, since the callback takes too long.
  void try_in_vain(const FakeServer& server) {
    ConnectionSettings impatient = settings();
    impatient.connect_timeout = 100ms;
    Client client{server.endpoint(), impatient};
    client.ask(command({"GET", "a"}));
    EXPECT_TRUE(client.told.eventually({"error unavailable", "closed"}));
    EXPECT_THAT(client.closed().what(),
                HasSubstr("the credentials callback did not return within 100 ms"));
  }

  static void expect_log_in(const FakeServer& server, const Client& client) {
    const FakePeer peer = server.accept();
    EXPECT_TRUE(peer.hears(command({"AUTH", "app", "word"})));
    peer.says("+OK\r\n");
    EXPECT_TRUE(client.told.eventually({"ready"}));
  }

  test::Gate begun;
  test::Gate go_on;
  std::atomic<int> called{0};
  std::shared_ptr<CredentialsCalls> calls = std::make_shared<CredentialsCalls>(
      [this] {
        if (called++ == 0) {
          begun.open();
          go_on.opens();
        }
        return Credentials{.password = Secret{"word"}};
      },
      make_null_logger());
};

TEST_F(CredentialsOfARedisConnection, HoldUpNoOtherConnectionOfTheThread) {
  const FakeServer server;
  Client waiting{server.endpoint(), settings()};
  ASSERT_TRUE(begun.opens());
  Told told;
  const auto other = Connection::open(
      waiting.io().loop(), server.endpoint(), std::make_shared<const ConnectionSettings>(patient()),
      Connection::Use::commands, {.on_ready = [&] { told.add("ready"); }});
  const FakePeer other_peer = server.accept();
  EXPECT_TRUE(other_peer.hears(command({"PING"})));
  other_peer.says("+PONG\r\n");
  EXPECT_TRUE(told.eventually({"ready"}));
  go_on.open();
  expect_log_in(server, waiting);
  other->close();
}

TEST_F(CredentialsOfARedisConnection, ThatComeTooLateForOneConnectionAreForTheNext) {
  const FakeServer server;
  try_in_vain(server);
  Client next{server.endpoint(), settings()};
  next.io().post([&] { go_on.open(); });  // it has asked by then
  expect_log_in(server, next);
  EXPECT_EQ(called, 1);
}

TEST_F(CredentialsOfARedisConnection, ThatComeWhenNobodyWaitsAreKeptForTheNextConnectionOnly) {
  const FakeServer server;
  try_in_vain(server);
  go_on.open();
  // Whether the result has been put aside already, or will be passed on: there is no second call.
  Client next{server.endpoint(), settings()};
  expect_log_in(server, next);
  EXPECT_EQ(called, 1);
  Client another{server.endpoint(), settings()};
  expect_log_in(server, another);
  EXPECT_EQ(called, 2);
}

/// Opens the gate when its last copy is gone.
struct FailureOfTheCallback : std::runtime_error {
  explicit FailureOfTheCallback(test::Gate& gate)
      : std::runtime_error{"stale"}, gone{&gate, [](test::Gate* opened) { opened->open(); }} {}

  std::shared_ptr<test::Gate> gone;
};

TEST_F(CredentialsOfARedisConnection, ThatFailWhenNobodyWaitsAreAskedForAgain) {
  test::Gate forgotten;
  CredentialsCalls failing{[&]() -> Credentials {
                             if (called++ > 0) return {.password = Secret{"word"}};
                             begun.open();
                             go_on.opens();
                             throw FailureOfTheCallback{forgotten};
                           },
                           make_null_logger()};
  auto first = failing.ask([](const CredentialsSource&) { ADD_FAILURE() << "has given up"; });
  ASSERT_TRUE(begun.opens());
  first.reset();
  go_on.open();
  ASSERT_TRUE(forgotten.opens()) << "the error has been kept";
  test::Gate told;
  const auto second = failing.ask([&](const CredentialsSource& result) {
    EXPECT_EQ(result().password.reveal(), "word");
    told.open();
  });
  EXPECT_TRUE(told.opens());
  EXPECT_EQ(called, 2);
}

TEST_F(CredentialsOfARedisConnection, AreAskedForOnceByConnectionsThatWaitAtTheSameTime) {
  const FakeServer server;
  Client one{server.endpoint(), settings()};
  ASSERT_TRUE(begun.opens());
  Client other{server.endpoint(), settings()};
  other.io().post([&] { go_on.open(); });  // it has asked by then
  const FakePeer first = server.accept();
  const FakePeer second = server.accept();
  EXPECT_TRUE(first.hears(command({"AUTH", "app", "word"})));
  EXPECT_TRUE(second.hears(command({"AUTH", "app", "word"})));
  EXPECT_EQ(called, 1);
}

TEST_F(CredentialsOfARedisConnection, ThatComeWhenItIsClosedFindNobody) {
  const FakeServer server;
  {
    Client client{server.endpoint(), settings()};
    ASSERT_TRUE(begun.opens());
  }
  go_on.open();
  calls.reset();  // waits for the call
  EXPECT_EQ(called, 1);
}

/// The callback of a store hangs for good.
TEST(ARedisStoreWhoseCredentialsHang, HoldsUpNoCallbackOfOthers) {
  test::Gate begun;
  test::Gate go_on;
  const auto runtime =
      make_runtime({.callback_threads = 1, .log = make_null_logger(), .max_callback_threads = 1});
  RedisOptions options{.endpoints = {{.host = "127.0.0.1", .port = 1}}, .runtime = runtime};
  options.credentials = [&] {
    begun.open();
    go_on.opens();
    return Credentials{};
  };
  const auto factory = make_redis_factory(std::move(options));
  testkit::RecordingContender waiting{"m", "c"};
  const auto service = factory->create_mutex_contend_service(waiting);
  service->start();
  ASSERT_TRUE(begun.opens());

  test::Gate elected;
  const simba::Client other{"memory:", {.runtime = runtime}};
  const Election election =
      other.elect("leader", {.on_elected = [&](const Leadership&) { elected.open(); }});
  EXPECT_TRUE(elected.opens());
  go_on.open();
}

}  // namespace
}  // namespace simba::redis
