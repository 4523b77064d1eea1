#include <csignal>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "process/redis/contenders.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {
namespace {

using support::eventually;
using support::FaultProxy;
using support::now;
using support::RedisServer;
using support::Tls;

/// A server that keeps its data, and under load: four contenders that reach it by a proxy each, and
/// two in another process that reach it without.
class RedisFaults : public ::testing::Test {
 protected:
  RedisFaults() {
    const auto options = support::redis_options(server_.location(), short_contention());
    contenders_.add_process("other process", options);
    for (int i = 0; i < 4; ++i) {
      contenders_.add_with_proxy(options);
    }
    contenders_.expect_all_take_part();
  }

  void TearDown() override {
    contenders_.end();
    EXPECT_EQ(contenders_.log().count(server_.location().password), 0U);
  }

  /// Applies a fault that strikes once: to an owner, and to each contender in turn.
  template <class Fault>
  void strike_all(const std::string& what, Fault fault) {
    const auto strike = [&](Contenders::Member& member) {
      const auto cuts = member.proxy->counters().cuts;
      fault(*member.proxy);
      EXPECT_TRUE(eventually([&] { return member.proxy->counters().cuts > cuts; }))
          << what << " did not strike " << member.name;
      contenders_.expect_recovery(fmt::format("{} of {}", what, member.name));
    };
    strike(contenders_.long_owner());
    for (auto& member : contenders_.members()) {
      strike(*member);
    }
  }

  RedisServer server_{Tls::off, keeping_data()};
  Contenders contenders_;
};

TEST_F(RedisFaults, AServerThatIsKilledAndStartedAgainUnderLoadLetsNobodyInTwice) {
  for (int round = 0; round < 3; ++round) {
    contenders_.long_owner();
    server_.kill();
    server_.start();
    contenders_.expect_recovery(fmt::format("kill {}", round));
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, AServerThatStaysDownForLongerThanTheLeaseEndsEveryOwnership) {
  contenders_.long_owner();
  server_.kill();
  const auto killed = now();
  EXPECT_TRUE(eventually([&] { return now() > killed + short_lease + 200ms; }));

  EXPECT_LT(contenders_.ledger().last_seen(), killed + short_lease);
  server_.start();
  contenders_.expect_recovery("down");
  contenders_.expect_all_take_part();
  // A proxy without a server accepts, and resets before or after the client thinks it is connected.
  EXPECT_TRUE(contenders_.log().contains("cannot connect to Redis at ") ||
              contenders_.log().contains("lost the connection to Redis at "))
      << contenders_.log().text();
}

TEST_F(RedisFaults, AServerThatIsShutDownInOrderAndStartedAgainLetsNobodyInTwice) {
  contenders_.long_owner();

  server_.restart();

  contenders_.expect_recovery("restart");
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, AServerThatIsPausedPastTheLeaseEndsEveryOwnershipAndComesBack) {
  contenders_.long_owner();
  server_.pause();
  const auto paused = now();
  EXPECT_TRUE(eventually([&] { return now() > paused + short_lease + 200ms; }));

  EXPECT_LT(contenders_.ledger().last_seen(), paused + short_lease);
  server_.resume();
  contenders_.expect_recovery("pause");
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, AServerThatSleepsCostsNoMutualExclusion) {
  Console console{server_.location()};
  for (const std::string seconds : {"0.3", "0.8", "1.5"}) {
    contenders_.long_owner();
    console.ask({"DEBUG", "SLEEP", seconds});
    contenders_.expect_recovery("sleep of seconds: " + seconds);
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, AConnectionThatIsCutInTheMiddleOfACommandCostsNoMutualExclusion) {
  for (const std::uint64_t bytes : {1U, 60U}) {
    strike_all(fmt::format("cut after {} bytes", bytes),
               [&](FaultProxy& proxy) { proxy.cut_after_bytes(bytes); });
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, ConnectionsThatAreCutAnywhereCostNoMutualExclusion) {
  for (std::uint64_t bytes = 7; bytes < 1'500; bytes += 97) {
    for (auto& member : contenders_.members()) {
      member->proxy->cut_after_bytes(bytes);
    }
    contenders_.expect_recovery(fmt::format("cut after {} bytes", bytes));
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, AReplyThatIsLostCostsNoMutualExclusion) {
  for (int round = 0; round < 2; ++round) {
    strike_all("a lost reply", [](FaultProxy& proxy) { proxy.cut_next_reply(); });
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, ConnectionsThatAreResetCostNoMutualExclusion) {
  for (int round = 0; round < 20; ++round) {
    for (auto& member : contenders_.members()) {
      member->proxy->reset_all();
    }
    contenders_.expect_recovery(fmt::format("reset {}", round));
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, AnOwnerThatIsCutOffForLessThanItsLeaseKeepsTheMutex) {
  auto& owner = contenders_.long_owner();
  const auto ownerships = contenders_.ledger().size();
  owner.proxy->black_hole();
  const auto begin = now();
  EXPECT_TRUE(eventually([&] { return now() > begin + 200ms; }));
  owner.proxy->mend();

  EXPECT_TRUE(eventually([&] { return now() > begin + short_lease; }));
  EXPECT_EQ(contenders_.ledger().size(), ownerships);
  contenders_.expect_recovery("short black hole");
}

TEST_F(RedisFaults, AnOwnerWhoseCommandsHangIsReplacedAndDisturbsNobodyWhenTheyArriveLate) {
  for (int round = 0; round < 2; ++round) {
    auto& owner = contenders_.long_owner();
    owner.proxy->black_hole();
    const auto begin = now();
    contenders_.expect_recovery("black hole of the owner, " + owner.name);
    EXPECT_TRUE(eventually([&] { return now() > begin + short_lease; }));
    EXPECT_EQ(contenders_.ledger().begun_since(begin, owner.name), 0U);
    owner.proxy->mend();
    contenders_.expect_recovery("end of the black hole of " + owner.name);
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, AWaiterWhoseCommandsHangHoldsNobodyUp) {
  auto& owner = contenders_.long_owner();
  for (auto& member : contenders_.members()) {
    if (member.get() == &owner) continue;
    member->proxy->black_hole();
    contenders_.expect_recovery("black hole of a waiter");
    member->proxy->mend();
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, AnOwnerThatIsCutOffIsReplacedAndComesBack) {
  for (int round = 0; round < 2; ++round) {
    auto& owner = contenders_.long_owner();
    owner.proxy->cut();
    const auto begin = now();
    contenders_.expect_recovery("cut of the owner, " + owner.name);
    EXPECT_EQ(contenders_.ledger().begun_since(begin, owner.name), 0U);
    owner.proxy->mend();
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, ASlowNetworkCostsNoMutualExclusion) {
  for (auto& member : contenders_.members()) {
    member->proxy->delay(30ms);
  }
  contenders_.long_owner();
  contenders_.expect_recovery("delay");
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, AProcessThatIsPausedIsReplacedAndDisturbsNobodyWhenItGoesOn) {
  // What is granted to a process that sleeps is lost for a lease, once for all who wait there.
  const auto limit = short_lease + 1s;
  for (int round = 0; round < 2; ++round) {
    contenders_.signal(SIGSTOP);
    const auto begin = now();
    while (now() < begin + 2 * short_lease) {
      contenders_.expect_recovery("pause of the other process", limit);
    }
    contenders_.signal(SIGCONT);
    contenders_.expect_recovery("return of the other process", limit);
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, ConnectionsThatTheServerEndsAgainAndAgainCostNoMutualExclusion) {
  Console console{server_.location()};
  for (int round = 0; round < 30; ++round) {
    console.ask({"CLIENT", "KILL", "USER", "simba"});
    if (round % 5 == 4) contenders_.expect_recovery(fmt::format("kill {}", round));
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, ConnectionsForMessagesThatTheServerEndsCostNoMutualExclusion) {
  Console console{server_.location()};
  for (int round = 0; round < 30; ++round) {
    console.ask({"CLIENT", "KILL", "TYPE", "pubsub"});
    contenders_.expect_recovery(fmt::format("kill {}", round));
  }
  contenders_.expect_all_take_part();
}

TEST_F(RedisFaults, ScriptsThatTheServerForgetsAreSentAgain) {
  Console console{server_.location()};
  contenders_.log().clear();
  for (int round = 0; round < 30; ++round) {
    console.ask({"SCRIPT", "FLUSH"});
    contenders_.expect_recovery(fmt::format("flush {}", round));
  }
  contenders_.expect_all_take_part();
  EXPECT_FALSE(contenders_.log().contains("NOSCRIPT")) << "it is nothing to tell anyone about";
}

}  // namespace
}  // namespace simba::redis::test
