#include "redis/connection/connection.hpp"

#include <array>
#include <atomic>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/redis/connection_fixture.hpp"
#include "unit/redis/fake_server.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Lines = std::vector<std::string>;

const std::string ping = command({"PING"});

/// A client whose log-in is done, and the server's end of it.
struct Pair {
  explicit Pair(ConnectionSettings settings = patient(),
                Connection::Use use = Connection::Use::commands)
      : client{server.endpoint(), std::move(settings), use}, peer{server.accept()} {
    EXPECT_TRUE(peer.hears(ping));
    peer.says("+PONG\r\n");
    EXPECT_TRUE(client.told.eventually({"ready"}));
  }

  FakeServer server{};
  Client client;
  FakePeer peer;
};

ConnectionSettings impatient() {
  auto settings = patient();
  settings.command_timeout = 60ms;
  return settings;
}

TEST(RedisConnection, GivesAReplyThatCameInPieces) {
  Pair pair;
  pair.client.ask(command({"GET", "a"}));
  EXPECT_TRUE(pair.peer.hears(command({"GET", "a"})));
  for (const char byte : std::string{"$5\r\nhello\r\n"}) pair.peer.says({&byte, 1});
  EXPECT_TRUE(pair.client.told.eventually({"ready", "reply hello"}));
}

TEST(RedisConnection, GivesManyRepliesThatCameInOnePieceInTheirOrder) {
  Pair pair;
  std::string all;
  Lines lines{"ready"};
  for (int i = 0; i < 1'000; ++i) {
    pair.client.ask(ping);
    all += ":" + std::to_string(i) + "\r\n";
    lines.push_back("reply " + std::to_string(i));
  }
  EXPECT_EQ(pair.peer.hears(ping.size() * 1'000).size(), ping.size() * 1'000);
  pair.peer.says(all);
  EXPECT_TRUE(pair.client.told.eventually(lines));
}

TEST(RedisConnection, GivesAllRepliesOfOneRequestTogether) {
  Pair pair;
  pair.client.ask(ping + ping + ping, 3);
  pair.client.ask(ping);
  pair.peer.says("+a\r\n-ERR b\r\n");
  pair.peer.says("+c\r\n+d\r\n");
  EXPECT_TRUE(pair.client.told.eventually({"ready", "reply a ERR b c", "reply d"}));
}

TEST(RedisConnection, SendsWhatWasSentBeforeItWasReadyAfterTheLogIn) {
  const FakeServer server;
  Client client{server.endpoint()};
  client.ask(command({"GET", "early"}));
  const FakePeer peer = server.accept();
  EXPECT_TRUE(peer.hears(ping));
  peer.says("+PONG\r\n");
  EXPECT_TRUE(peer.hears(command({"GET", "early"})));
  peer.says("$-1\r\n");
  EXPECT_TRUE(client.told.eventually({"ready", "reply "}));
}

TEST(RedisConnection, LeavesTheOutcomeOfWhatWasSentInDoubtWhenClosed) {
  Pair pair;
  pair.client.ask(ping);
  EXPECT_TRUE(pair.peer.hears(ping));
  pair.client->close();
  EXPECT_TRUE(pair.client.told.eventually({"ready", "error in doubt"}));
  EXPECT_TRUE(pair.peer.sees_the_end());
  pair.client.ask(ping);
  EXPECT_EQ(pair.client.told.lines(), (Lines{"ready", "error in doubt", "error unavailable"}));
}

TEST(RedisConnection, AnswersWhatWasNotSentAsUnavailableWhenClosed) {
  const FakeServer server;
  Client client{server.endpoint()};
  client.ask(ping);
  client->close();
  client->close();
  EXPECT_TRUE(client.told.eventually({"error unavailable"}));
}

TEST(RedisConnection, MayBeClosedInsideAHandler) {
  Pair pair;
  pair.client->send(ping, 1, [&](const Replies& replies) {
    pair.client.told.add(describe(replies));
    pair.client->close();
    pair.client.told.add("close returned");
  });
  pair.client.ask(ping);
  EXPECT_TRUE(pair.peer.hears(ping + ping));
  pair.peer.says("+a\r\n+b\r\n");
  EXPECT_TRUE(
      pair.client.told.eventually({"ready", "reply a", "close returned", "error in doubt"}));
}

TEST(RedisConnection, MayBeSentToInsideAHandler) {
  Pair pair;
  pair.client->send(ping, 1, [&](const Replies& replies) {
    pair.client.told.add(describe(replies));
    pair.client.ask(command({"SECOND"}));
    pair.client.ask(command({"THIRD"}));
  });
  EXPECT_TRUE(pair.peer.hears(ping));
  pair.peer.says("+a\r\n");
  EXPECT_TRUE(pair.peer.hears(command({"SECOND"}) + command({"THIRD"})));
  pair.peer.says("+b\r\n+c\r\n");
  EXPECT_TRUE(pair.client.told.eventually({"ready", "reply a", "reply b", "reply c"}));
}

TEST(RedisConnection, GoesOnAfterAHandlerThatThrows) {
  Pair pair;
  pair.client->send(ping, 1, [](const Replies&) { throw std::runtime_error{"a handler's fault"}; });
  pair.client->send(ping, 1, [](const Replies&) { throw IllegalStateError{"another one"}; });
  pair.client.ask(ping);
  pair.peer.says("+a\r\n+b\r\n+c\r\n");
  EXPECT_TRUE(pair.client.told.eventually({"ready", "reply c"}));
  pair.client->send(ping, 1, [](const Replies&) { throw std::runtime_error{"a handler's fault"}; });
  pair.client.ask(ping);
  EXPECT_TRUE(pair.peer.hears(ping + ping + ping + ping + ping));
  pair.peer.hang_up();
  EXPECT_TRUE(pair.client.told.eventually({"ready", "reply c", "error in doubt", "closed"}));
}

TEST(RedisConnection, TellsOfTheEndAfterEveryRequestIsAnswered) {
  Pair pair;
  pair.client.ask(ping);
  pair.client.ask(ping + ping, 2);
  pair.client.ask(ping);
  EXPECT_TRUE(pair.peer.hears(ping + ping + ping + ping));
  pair.peer.says("+a\r\n+b\r\n$100\r\nhalf");
  pair.peer.hang_up();
  EXPECT_TRUE(pair.client.told.eventually(
      {"ready", "reply a", "error in doubt", "error in doubt", "closed"}));
  EXPECT_EQ(pair.client.closed().kind(), ErrorKind::unavailable);
  EXPECT_THAT(pair.client.closed().what(), HasSubstr("closed by the server"));
}

TEST(RedisConnection, IsClosedByACommandWithoutAnAnswer) {
  Pair pair{impatient()};
  pair.client.ask(ping);
  EXPECT_TRUE(pair.client.told.eventually({"ready", "error timeout", "closed"}));
  EXPECT_EQ(pair.client.closed().kind(), ErrorKind::timeout);
  EXPECT_THAT(pair.client.closed().what(), HasSubstr("60 ms"));
}

TEST(RedisConnection, LooksAtTheOldestRequestOnly) {
  auto settings = patient();
  settings.command_timeout = support::scaled(1s);
  Pair pair{settings};
  // More than the time-out in all, but no single one.
  Lines lines{"ready"};
  const LocalTime end = support::now() + 2 * settings.command_timeout;
  while (support::now() < end) {
    pair.client.ask(ping);
    EXPECT_TRUE(pair.peer.hears(ping));
    pair.peer.says("+a\r\n");
    lines.emplace_back("reply a");
    ASSERT_TRUE(pair.client.told.eventually(lines));
  }
}

TEST(RedisConnection, SaysOfWhatItCouldNotWriteThatItWasNotSent) {
  // More than the buffers of both sockets hold, while nobody reads. The time of both begins with
  // the log-in.
  const auto large = command({"SET", "a", std::string(32U << 20U, 'x')});
  const FakeServer server;
  Client client{server.endpoint(), impatient()};
  client.ask(large);
  client.ask(ping);
  const FakePeer peer = server.accept();
  EXPECT_TRUE(peer.hears(ping));
  peer.says("+PONG\r\n");
  EXPECT_TRUE(client.told.eventually({"ready", "error timeout", "error unavailable", "closed"}));
}

TEST(RedisConnection, WritesALargeRequestWhole) {
  Pair pair;
  const auto large = command({"SET", "a", std::string(8U << 20U, 'x')});
  pair.client.ask(large);
  pair.client.ask(ping);
  EXPECT_TRUE(pair.peer.hears(large + ping));
  pair.peer.says("+a\r\n+b\r\n");
  EXPECT_TRUE(pair.client.told.eventually({"ready", "reply a", "reply b"}));
}

TEST(RedisConnection, IsClosedByAReplyThatNobodyAskedFor) {
  Pair pair;
  pair.peer.says("+surprise\r\n");
  EXPECT_THAT(pair.client.closed().what(), HasSubstr("sent a reply without a request"));
  EXPECT_TRUE(pair.peer.sees_the_end());
}

TEST(RedisConnection, IsClosedByBytesThatAreNoReply) {
  Pair pair;
  pair.client.ask(ping);
  EXPECT_TRUE(pair.peer.hears(ping));
  pair.peer.says("\x15\x03\x01junk\r\n");
  EXPECT_THAT(pair.client.closed().what(), HasSubstr("sent an invalid RESP reply: "));
  EXPECT_EQ(pair.client.closed().kind(), ErrorKind::internal);
  EXPECT_TRUE(pair.client.told.eventually({"ready", "error in doubt", "closed"}));
}

TEST(RedisConnection, ForSubscriptionsTellsEverythingAsAMessage) {
  Pair pair{{}, Connection::Use::subscriptions};
  pair.client->send(command({"SUBSCRIBE", "a"}), 0, {});
  EXPECT_TRUE(pair.peer.hears(command({"SUBSCRIBE", "a"})));
  pair.peer.says("+one\r\n+two\r\n");
  EXPECT_TRUE(pair.client.told.eventually({"ready", "message one", "message two"}));
  pair.client->send(command({"PING"}), 0, {});
  EXPECT_TRUE(pair.peer.hears(ping));
  pair.peer.hang_up();
  EXPECT_TRUE(pair.client.told.eventually({"ready", "message one", "message two", "closed"}));
}

TEST(RedisConnection, IsLeftAloneInAForkedChild) {
  Pair pair;
  pair.client.ask(ping);
  EXPECT_TRUE(pair.peer.hears(ping));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool refused = false;
    pair.client->send(ping, 1, [&](const Replies& replies) {
      refused = describe(replies) == "error illegal state";
    });
    pair.client->close();
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  pair.peer.says("+a\r\n");
  EXPECT_TRUE(pair.client.told.eventually({"ready", "reply a"}));
}

TEST(RedisConnection, RefusesARequestWithoutReplies) {
  Pair pair;
  EXPECT_THROW(pair.client->send(ping, 0, {}), InvalidArgumentError);
}

TEST(RedisConnection, AnswersTheRequestsOfManyThreadsInTheOrderOfEach) {
  constexpr int threads = 4;
  constexpr int each = 2'500;
  Pair pair;
  // Gives back the argument of each command: "*1\r\n$8\r\nTNNNNNNN\r\n".
  std::thread echo{[&] {
    for (int i = 0; i < threads * each; ++i) {
      const auto request = pair.peer.hears(std::size_t{18});
      pair.peer.says("+" + request.substr(8, 8) + "\r\n");
    }
  }};
  std::array<std::atomic<int>, threads> answered{};
  std::atomic<int> wrong = 0;
  std::vector<std::thread> senders;
  for (int thread = 0; thread < threads; ++thread) {
    senders.emplace_back([&, thread] {
      for (int i = 0; i < each; ++i) {
        const std::string word = std::to_string(10'000'000 + thread * 1'000'000 + i);
        pair.client->send(command({word}), 1, [&, thread, i, word](const Replies& replies) {
          if (describe(replies) != "reply " + word) ++wrong;
          if (answered.at(static_cast<std::size_t>(thread))++ != i) ++wrong;
        });
      }
    });
  }
  for (auto& sender : senders) sender.join();
  echo.join();
  EXPECT_TRUE(support::eventually(
      [&] { return answered[0] + answered[1] + answered[2] + answered[3] == threads * each; }));
  EXPECT_EQ(wrong, 0);
}

TEST(RedisConnection, AnswersEachRequestOnceWhereManyThreadsSendWhileItBreaks) {
  constexpr int threads = 3;
  for (int round = 0; round < 20; ++round) {
    Pair pair;
    std::atomic<int> sent = 0;
    std::atomic<int> answered = 0;
    std::atomic<bool> stop = false;
    std::vector<std::thread> senders;
    for (int thread = 0; thread < threads; ++thread) {
      senders.emplace_back([&] {
        while (!stop) {
          ++sent;
          pair.client->send(ping, 1, [&](const Replies&) { ++answered; });
          std::this_thread::yield();
        }
      });
    }
    EXPECT_TRUE(pair.peer.hears(ping + ping));
    pair.peer.says("+a\r\n");
    if (round % 2 == 0) {
      pair.peer.hang_up();
    } else {
      pair.client->close();
    }
    EXPECT_TRUE(support::eventually([&] { return answered > 1; }));
    stop = true;
    for (auto& sender : senders) sender.join();
    EXPECT_TRUE(support::eventually([&] { return answered == sent; }));
  }
}

}  // namespace
}  // namespace simba::redis
