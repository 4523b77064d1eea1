#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "process/zookeeper/contender_process.hpp"
#include "process/zookeeper/contenders.hpp"
#include "support/ownership/grows.hpp"
#include "support/ownership/owner_watch.hpp"
#include "support/ownership/ownership_ledger.hpp"
#include "support/safety.hpp"

namespace simba::zookeeper::test {
namespace {

using support::eventually;
using support::FaultProxy;
using support::now;
using support::OwnershipLedger;
using support::scaled;
using support::within;
using support::ZooKeeperServer;

std::unique_ptr<MutexServiceFactory> factory_of(std::uint16_t port,
                                                std::chrono::milliseconds session) {
  auto options = options_of(port);
  options.session_timeout = session;
  options.runtime = make_runtime({.log = std::make_shared<testkit::CapturingLogger>()});
  return make_zookeeper_factory(options);
}

/// An owner, and one that waits, each in a session of its own.
class ZooKeeperOutage : public ::testing::Test {
 protected:
  explicit ZooKeeperOutage(std::chrono::milliseconds session = short_session) : session_{session} {}

  void SetUp() override {
    ASSERT_TRUE(owner_.owns());
    waiter_ = std::make_unique<Contending>(*two_, "m");
    ASSERT_TRUE(eventually([&] { return !waiter_->contender.owners().empty(); }));
    token_ = owner_.service->fencing_token();
  }

  /// As if nothing had happened, and the hand-over still works.
  void expect_owner_goes_on(LocalTime since) {
    wait_until_after(since, session_ + long_tick + scaled(1s));
    EXPECT_TRUE(owner_.service->is_owner());
    EXPECT_EQ(owner_.service->fencing_token(), token_);
    EXPECT_EQ(owner_.contender.releases(), 0U);
    EXPECT_EQ(waiter_->contender.acquisitions(), 0U);
    owner_.service->stop();
    EXPECT_TRUE(within(1s, [&] { return waiter_->contender.acquisitions() == 1; }));
    EXPECT_TRUE(support::grows(token_, waiter_->service->fencing_token()));
    EXPECT_EQ(Console{server_.location()}.children(node_of("m")).size(), 1U);
  }

  /// Nobody owns while the server is away; afterwards someone does, with a greater token.
  void expect_step_down(LocalTime since) {
    EXPECT_LT(support::last_seen_owning(*owner_.service) - since, short_session);
    EXPECT_TRUE(within(1s, [&] { return owner_.contender.releases() >= 1; }));
    wait_until_after(since, session_end + scaled(500ms));
    EXPECT_EQ(waiter_->contender.acquisitions(), 0U);
  }

  void expect_someone_owns_anew() {
    const auto back = now();
    const auto owns = [](const Contending& one) { return one.service->is_owner(); };
    EXPECT_TRUE(within(2 * session_end + 1s, [&] { return owns(owner_) || owns(*waiter_); }));
    std::cout << "someone owns again after "
              << std::chrono::ceil<std::chrono::milliseconds>(now() - back).count() << " ms\n";
    // Who owns before and after has not been succeeded in between.
    EXPECT_FALSE(owns(*waiter_) && owns(owner_) && owns(*waiter_))
        << support::safety_violation << "two owners";
    EXPECT_TRUE(support::grows(
        token_, std::max(owner_.service->fencing_token(), waiter_->service->fencing_token())));
    Console console{server_.location()};
    EXPECT_TRUE(eventually([&] { return console.children(node_of("m")).size() == 2; }))
        << "one contends no more, or has left a node behind";
  }

  const std::chrono::milliseconds session_;
  ZooKeeperServer server_{with_long_tick()};
  const std::unique_ptr<MutexServiceFactory> one_ = factory_of(server_.port(), session_);
  const std::unique_ptr<MutexServiceFactory> two_ = factory_of(server_.port(), session_);
  const Contending owner_{*one_, "m"};
  std::unique_ptr<Contending> waiter_;
  FencingToken token_ = 0;
};

TEST_F(ZooKeeperOutage, AServerThatIsPausedForLessThanTheSessionChangesNothing) {
  server_.pause();
  const auto begin = now();
  wait_until_after(begin, short_session / 3);
  server_.resume();

  expect_owner_goes_on(begin);
}

TEST_F(ZooKeeperOutage, AServerThatIsPausedForLongerThanTheSessionEndsTheOwnershipInTime) {
  server_.pause();
  expect_step_down(now());
  server_.resume();

  expect_someone_owns_anew();
}

/// With a session in which a server can start.
class ZooKeeperRestart : public ZooKeeperOutage {
 protected:
  ZooKeeperRestart() : ZooKeeperOutage{scaled(20s)} {}
};

TEST_F(ZooKeeperRestart, AServerThatIsKilledAndBackWithinTheSessionChangesNothing) {
  const auto begin = now();
  server_.kill();
  server_.start();
  ASSERT_LT(now() - begin, session_ * 2 / 3) << "the server starts too slowly for this test";

  expect_owner_goes_on(begin);
}

TEST_F(ZooKeeperOutage, AServerThatStaysDownEndsTheOwnershipInTime) {
  server_.kill();
  expect_step_down(now());
  server_.start();

  expect_someone_owns_anew();
}

/// Contenders in processes of their own. They come first: nobody forks with threads.
class ZooKeeperProcesses : public ::testing::Test {
 protected:
  void TearDown() override {
    processes_.clear();
    EXPECT_EQ(ledger_.contradictions(), "");
  }

  void add(std::size_t count, std::chrono::milliseconds hold) {
    for (std::size_t i = 0; i < count; ++i) {
      processes_.push_back(std::make_unique<ContenderProcess>(
          fmt::format("process {}", processes_.size()), "m", hold));
    }
  }

  /// Waits until the newest ownership is of this process, and the other one is in line.
  void expect_owner(const ContenderProcess& process, std::size_t line) {
    Console console{server_.location()};
    ASSERT_TRUE(eventually([&] {
      return ledger_.newest_owner() == process.name() &&
             console.children(node_of("m")).size() == line;
    }));
  }

  ZooKeeperServer server_{with_long_tick()};
  OwnershipLedger ledger_;
  std::vector<std::unique_ptr<ContenderProcess>> processes_;
};

// The sleeper looks whether it holds the mutex as soon as it wakes. Would it not count by the
// clock, the ledger would show two owners.
TEST_F(ZooKeeperProcesses, AnOwnerThatIsPausedPastItsSessionDoesNotOwnWhenItWakes) {
  add(2, 1h);
  auto& sleeper = *processes_[0];
  auto& other = *processes_[1];
  sleeper.begin(server_.port(), ledger_);
  ASSERT_NO_FATAL_FAILURE(expect_owner(sleeper, 1));
  other.begin(server_.port(), ledger_);
  ASSERT_NO_FATAL_FAILURE(expect_owner(sleeper, 2));

  sleeper.signal(SIGSTOP);
  const auto begin = now();
  EXPECT_TRUE(within(session_end + 1s, [&] { return ledger_.newest_owner() == other.name(); }));
  wait_until_after(begin, session_end + scaled(1s));
  sleeper.signal(SIGCONT);
  const auto woken = now();
  wait_until_after(woken, scaled(2s));

  EXPECT_EQ(ledger_.begun_since(begin, sleeper.name()), 0U);
  EXPECT_EQ(ledger_.begun_since(begin, other.name()), 1U);
  other.kill();
  EXPECT_TRUE(within(2 * session_end + 1s, [&] {
    return ledger_.begun_since(woken, sleeper.name()) == 1;
  })) << "it does not contend anew";
}

TEST_F(ZooKeeperProcesses, AnOwnerThatIsKilledIsFollowedWhenItsSessionIsOver) {
  add(2, 1h);
  processes_[0]->begin(server_.port(), ledger_);
  ASSERT_NO_FATAL_FAILURE(expect_owner(*processes_[0], 1));
  processes_[1]->begin(server_.port(), ledger_);
  ASSERT_NO_FATAL_FAILURE(expect_owner(*processes_[0], 2));

  processes_[0]->kill();
  const auto killed = now();
  EXPECT_TRUE(within(session_end + 1s, [&] { return ledger_.begun_since(killed) == 1; }));
  EXPECT_EQ(ledger_.newest_owner(), processes_[1]->name());
}

TEST_F(ZooKeeperProcesses, RandomFaultsLetNobodyInTwice) {
  add(3, scaled(50ms));
  add(3, scaled(400ms));
  std::vector<std::unique_ptr<FaultProxy>> proxies;
  for (const auto& process : processes_) {
    proxies.push_back(std::make_unique<FaultProxy>("127.0.0.1", server_.port()));
    process->begin(proxies.back()->port(), ledger_);
  }
  const auto seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::minstd_rand random{seed};
  const auto below = [&](std::size_t limit) { return random() % limit; };
  const auto begin = now();
  while (now() < begin + scaled(15s)) {
    const auto which = below(processes_.size());
    auto& proxy = *proxies[which];
    switch (below(24)) {
      case 0:
        proxy.cut();
        break;
      case 1:
        proxy.black_hole();
        break;
      case 2:
        proxy.cut_next_reply();
        break;
      case 3:
        proxy.cut_after_bytes(below(300));
        break;
      case 4:
        proxy.delay(std::chrono::milliseconds{below(100)});
        break;
      case 5:
        processes_[which]->signal(SIGSTOP);
        break;
      case 6:
        server_.kill();
        server_.start();
        break;
      case 7:
        if (processes_.size() > 4) processes_.pop_back();  // which kills it
        break;
      default:
        processes_[which]->signal(SIGCONT);
        proxy.reset_all();
        proxy.mend();
        break;
    }
    wait_until_after(now(), std::chrono::milliseconds{below(300)});
  }
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    processes_[i]->signal(SIGCONT);
    proxies[i]->mend();
  }
  const auto mended = now();
  for (const auto& process : processes_) {
    EXPECT_TRUE(
        within(3 * session_end, [&] { return ledger_.begun_since(mended, process->name()) > 0; }))
        << process->name() << " gets the mutex no more; seed " << seed;
  }
  Console console{server_.location()};
  const auto most = processes_.size();
  EXPECT_TRUE(
      within(2 * session_end, [&] { return console.children(node_of("m")).size() <= most; }))
      << "nodes are left behind; seed " << seed;
  std::cout << ledger_.size() << " ownerships, seed " << seed << '\n';
}

}  // namespace
}  // namespace simba::zookeeper::test
