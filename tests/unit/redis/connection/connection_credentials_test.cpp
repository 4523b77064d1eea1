#include <future>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/connection/connection.hpp"
#include "simba/core/runtime.hpp"
#include "support/patience.hpp"
#include "unit/redis/connection_fixture.hpp"
#include "unit/redis/fake_server.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A callback that takes as long as the test wants.
struct CredentialsOfARedisConnection : testing::Test {
  ConnectionSettings settings() {
    ConnectionSettings settings = patient();
    settings.user = "app";
    settings.callbacks = runtime->callbacks;
    settings.credentials = [this] {
      begun.set_value();
      go_on.get_future().wait();
      return Credentials{.password = Secret{"word"}};
    };
    return settings;
  }

  std::promise<void> begun;
  std::promise<void> go_on;
  std::shared_ptr<const Runtime> runtime = make_runtime({.log = make_null_logger()});
};

TEST_F(CredentialsOfARedisConnection, HoldUpNoOtherConnectionOfTheThread) {
  const FakeServer server;
  Client waiting{server.endpoint(), settings()};
  begun.get_future().wait();
  Told told;
  const auto other = Connection::open(
      waiting.io().loop(), server.endpoint(), std::make_shared<const ConnectionSettings>(patient()),
      Connection::Use::commands, {.on_ready = [&] { told.add("ready"); }});
  const FakePeer other_peer = server.accept();
  EXPECT_TRUE(other_peer.hears(command({"PING"})));
  other_peer.says("+PONG\r\n");
  EXPECT_TRUE(told.eventually({"ready"}));
  go_on.set_value();
  const FakePeer peer = server.accept();
  EXPECT_TRUE(peer.hears(command({"AUTH", "app", "word"})));
  peer.says("+OK\r\n");
  EXPECT_TRUE(waiting.told.eventually({"ready"}));
  other->close();
}

TEST_F(CredentialsOfARedisConnection, AreWaitedForUntilTheConnectTimeout) {
  const FakeServer server;
  ConnectionSettings impatient = settings();
  impatient.connect_timeout = 100ms;
  Client client{server.endpoint(), impatient};
  client.ask(command({"GET", "a"}));
  EXPECT_TRUE(client.told.eventually({"error unavailable", "closed"}));
  EXPECT_THAT(client.closed().what(),
              HasSubstr("the credentials callback did not return within 100 ms"));
  go_on.set_value();
}

TEST_F(CredentialsOfARedisConnection, ThatComeWhenItIsClosedFindNobody) {
  const FakeServer server;
  {
    Client client{server.endpoint(), settings()};
    begun.get_future().wait();
  }
  go_on.set_value();
  runtime.reset();  // waits for what runs there
}

}  // namespace
}  // namespace simba::redis
