#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "process/sql/products.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "support/ownership/lock_holder.hpp"
#include "support/ownership/ownership_ledger.hpp"
#include "support/patience.hpp"
#include "support/proxy/fault_proxy.hpp"

namespace simba::support {

namespace {

using namespace std::chrono_literals;

constexpr auto ttl = 1'000ms;
constexpr auto transition = 500ms;
constexpr auto lease = ttl + transition;

sql::SqlOptions short_lease() {
  sql::SqlOptions options;
  options.contention.ttl = ttl;
  options.contention.transition = transition;
  return options;
}

/// A server under load: contenders with a factory each, each through a proxy of its own, hand one
/// mutex round. Every other one keeps it for longer than the lease, and so has to renew.
class SqlFaults : public testing::TestWithParam<SqlProduct> {
 protected:
  static constexpr std::size_t contenders = 4;

  struct Member {
    std::string name;
    std::unique_ptr<FaultProxy> proxy;
    std::unique_ptr<MutexServiceFactory> factory;
    std::unique_ptr<LockHolder> holder;
  };

  void SetUp() override {
    if (const auto why = GetParam().missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    server_ = GetParam().make_server();
    for (std::size_t i = 0; i < contenders; ++i) {
      auto& member = members_.emplace_back();
      member.name = fmt::format("contender {}", i);
      member.proxy = std::make_unique<FaultProxy>("127.0.0.1", server_->port());
      member.factory =
          GetParam().make_factory(server_->location(), member.proxy->port(), short_lease());
      member.holder = std::make_unique<LockHolder>(
          member.name, "order", *member.factory, ledger_,
          [this, long_hold = i % 2 == 1] { return long_hold && !hurry_ ? 2 * lease : 20ms; });
    }
    expect_all_take_part();
    ASSERT_FALSE(HasFailure());
  }

  void TearDown() override {
    members_.clear();
    EXPECT_EQ(ledger_.contradictions(), "");
    RecordProperty("ownerships", static_cast<int>(ledger_.size()));
  }

  /// When a fault is over, or concerns others only, someone new owns the mutex soon.
  void expect_recovery(const std::string& after) {
    hurry_ = true;
    const auto begin = now();
    EXPECT_TRUE(within(lease + 1s, [&] { return ledger_.begun_since(begin) > 0; }))
        << "no new owner after: " << after;
    slowest_ = std::max(slowest_, now() - begin);
    RecordProperty(
        "slowest_recovery_ms",
        static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(slowest_).count()));
    hurry_ = false;
  }

  /// Everyone is part of it again.
  void expect_all_take_part() {
    hurry_ = true;
    const auto begin = now();
    for (const auto& member : members_) {
      EXPECT_TRUE(eventually([&] { return ledger_.begun_since(begin, member.name) > 0; }))
          << member.name << " does not get the mutex any more";
    }
    hurry_ = false;
  }

  /// One that owns the mutex now and will for a while.
  Member& long_owner() {
    std::string owner;
    EXPECT_TRUE(eventually([&] {
      owner = ledger_.newest_owner();
      return owner == members_[1].name || owner == members_[3].name;
    })) << "none of those who keep the mutex gets it";
    return owner == members_[3].name ? members_[3] : members_[1];
  }

  /// Waits until a fault that strikes once has done so.
  void expect_struck(const Member& member, std::uint64_t cuts_before) {
    EXPECT_TRUE(eventually([&] { return member.proxy->counters().cuts > cuts_before; }))
        << "the fault did not strike " << member.name;
  }

  /// Applies a fault that strikes once: to an owner, and to each contender in turn.
  template <class Fault>
  void strike_all(const std::string& what, Fault fault) {
    const auto strike = [&](Member& member) {
      const auto cuts = member.proxy->counters().cuts;
      fault(*member.proxy);
      expect_struck(member, cuts);
      expect_recovery(fmt::format("{} of {}", what, member.name));
    };
    strike(long_owner());
    for (auto& member : members_) {
      strike(member);
    }
  }

  std::unique_ptr<Server> server_;
  OwnershipLedger ledger_;
  std::atomic<bool> hurry_{false};
  std::chrono::nanoseconds slowest_{0};
  std::vector<Member> members_;
};

TEST_P(SqlFaults, AServerThatIsKilledAndStartedAgainUnderLoadLetsNobodyInTwice) {
  for (int round = 0; round < 3; ++round) {
    long_owner();
    server_->kill();
    server_->start();
    expect_recovery(fmt::format("kill {}", round));
  }
  expect_all_take_part();
}

TEST_P(SqlFaults, AServerThatStaysDownForLongerThanTheLeaseEndsEveryOwnership) {
  long_owner();
  server_->kill();
  const auto killed = now();
  EXPECT_TRUE(eventually([&] { return now() > killed + lease + 200ms; }));

  EXPECT_LT(ledger_.last_seen(), killed + lease);
  server_->start();
  expect_recovery("down");
  expect_all_take_part();
}

TEST_P(SqlFaults, AServerThatIsShutDownInOrderAndStartedAgainLetsNobodyInTwice) {
  long_owner();

  server_->restart();

  expect_recovery("restart");
  expect_all_take_part();
}

TEST_P(SqlFaults, AServerThatIsPausedPastTheLeaseEndsEveryOwnershipAndComesBack) {
  long_owner();
  server_->pause();
  const auto paused = now();
  EXPECT_TRUE(eventually([&] { return now() > paused + lease + 200ms; }));

  EXPECT_LT(ledger_.last_seen(), paused + lease);
  server_->resume();
  expect_recovery("pause");
  expect_all_take_part();
}

TEST_P(SqlFaults, AConnectionThatIsCutInTheMiddleOfAStatementCostsNoMutualExclusion) {
  for (const std::uint64_t bytes : {1U, 60U, 150U}) {
    strike_all(fmt::format("cut after {} bytes", bytes),
               [&](FaultProxy& proxy) { proxy.cut_after_bytes(bytes); });
  }
  expect_all_take_part();
}

TEST_P(SqlFaults, AReplyThatIsLostCostsNoMutualExclusion) {
  for (int round = 0; round < 3; ++round) {
    strike_all("a lost reply", [](FaultProxy& proxy) { proxy.cut_next_reply(); });
  }
  expect_all_take_part();
}

TEST_P(SqlFaults, AnOwnerWhoseStatementsHangIsReplacedAndDisturbsNobodyWhenTheyArriveLate) {
  for (int round = 0; round < 3; ++round) {
    auto& owner = long_owner();
    owner.proxy->black_hole();
    const auto begin = now();
    expect_recovery("black hole of the owner, " + owner.name);
    EXPECT_TRUE(eventually([&] { return now() > begin + lease; }));
    EXPECT_EQ(ledger_.begun_since(begin + lease, owner.name), 0U);
    owner.proxy->mend();
    expect_recovery("end of the black hole of " + owner.name);
  }
  expect_all_take_part();
}

TEST_P(SqlFaults, AWaiterWhoseStatementsHangHoldsNobodyUp) {
  auto& waiter = &long_owner() == &members_[1] ? members_[3] : members_[1];

  waiter.proxy->black_hole();
  expect_recovery("black hole of a waiter");
  waiter.proxy->mend();

  expect_all_take_part();
}

TEST_P(SqlFaults, AnOwnerThatIsCutOffIsReplacedAndComesBack) {
  for (int round = 0; round < 3; ++round) {
    auto& owner = long_owner();
    owner.proxy->cut();
    const auto begin = now();
    expect_recovery("cut of the owner, " + owner.name);
    EXPECT_EQ(ledger_.begun_since(begin, owner.name), 0U);
    owner.proxy->mend();
  }
  expect_all_take_part();
}

TEST_P(SqlFaults, ASlowNetworkCostsNoMutualExclusion) {
  for (auto& member : members_) {
    member.proxy->delay(40ms);
  }
  long_owner();
  expect_recovery("delay");
  expect_all_take_part();
}

// Nobody tells of it: the poll interval is the only way to learn. The lease is an hour, so that it
// is not its end that the waiter waits for.
TEST_P(SqlFaults, AWaiterOwnsWhatARestoredTableHasFreeWithASmallerVersion) {
  const auto run = [&](const std::string& statement) {
    GetParam().run(server_->location(), statement);
  };
  run("INSERT INTO simba_mutex (mutex,acquired_at,ttl_at,transition_at,owner_id,version) VALUES "
      "('restored',0,4102444800000,4102444800000,'another',1000)");
  sql::SqlOptions options;
  options.contention.ttl = 1h;
  const auto factory = GetParam().make_factory(server_->location(), server_->port(), options);
  testkit::RecordingContender contender{"restored"};
  const auto service = factory->create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(eventually([&] { return service->after_owner().owner_id() == "another"; }));

  // In one statement: between two the waiter would add a row of its own.
  run("UPDATE simba_mutex SET ttl_at = 0, transition_at = 0, owner_id = '', version = 7 "
      "WHERE mutex = 'restored'");
  const auto restored = now();
  constexpr auto longest_poll_interval = 1s;  // of the defaults of the products
  EXPECT_TRUE(within(longest_poll_interval + 1s, [&] { return service->is_owner(); }));
  RecordProperty(
      "took_ms",
      static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(now() - restored).count()));
  EXPECT_EQ(service->fencing_token(), 8U);
}

INSTANTIATE_TEST_SUITE_P(Servers, SqlFaults, testing::ValuesIn(sql_server_products()),
                         [](const auto& context) { return context.param.name; });

}  // namespace

}  // namespace simba::support
