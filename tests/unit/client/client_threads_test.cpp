// Locks of a client with real threads and real time.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "simba/config/configuration.hpp"
#include "simba/simba.hpp"
#include "support/safety.hpp"
#include "support/temporary_folder.hpp"
#include "unit/core/forked.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

TEST(ClientThreads, GrantsCancellationsTimeoutsAndUnlocksThatCrossLeaveOneHolderAndNothingBehind) {
  const Client client{"memory:"};
  std::atomic<int> holders{0};
  std::atomic<int> overlaps{0};
  std::atomic<int> held{0};
  const auto work = [&](unsigned seed) {
    std::minstd_rand random{seed};
    for (int i = 0; i < 200; ++i) {
      std::stop_source stop;
      std::jthread canceller;
      if (random() % 4 == 0) canceller = std::jthread{[&stop] { stop.request_stop(); }};
      LockResult lock = client.try_lock(
          "order", {.wait = std::chrono::microseconds{random() % 2000}}, stop.get_token());
      if (!lock) continue;
      if (holders.fetch_add(1) != 0) ++overlaps;
      ++held;
      holders.fetch_sub(1);
      if (random() % 2 == 0) lock->unlock();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 1; seed <= 6; ++seed) threads.emplace_back(work, seed);
  }
  EXPECT_EQ(overlaps, 0) << support::safety_violation << "two holders";
  EXPECT_GT(held, 0);
  EXPECT_TRUE(client.lock("order", {.wait = 5s}).held()) << "nothing was left behind";
}

TEST(ClientThreads, ClosingEndsTheWaitsOfAllThreads) {
  std::optional<Client> client{"memory:"};
  const Lock held = client->lock("order");
  std::atomic<int> ended{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([copy = *client, &ended] {
        try {
          static_cast<void>(copy.lock("order"));
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::illegal_state) ++ended;
        }
      });
    }
    client->close();
  }
  EXPECT_EQ(ended, 8);
  EXPECT_TRUE(held.held());
}

TEST(ClientThreads, AForkedChildHoldsNothingIsToldSoAndReleasesNothing) {
  const support::TemporaryFolder folder;
  const Client client{"sqlite:" + (folder.path() / "simba.db").string()};
  Lock lock = client.lock("order");
  Election election = client.elect("leader", {});
  Watch watch = client.watch("order", [](const MutexOwner&) {});
  EXPECT_TRUE(test::in_forked_child([&] {
    bool told = false;
    try {
      static_cast<void>(client.try_lock("stock"));
    } catch (const IllegalStateError&) {
      told = true;
    }
    const bool nothing = !lock.held() && lock.lost().stop_requested() && !election.is_leader();
    // What a child destroys on its way out.
    lock.unlock();
    election = {};
    watch = {};
    client.close();
    return told && nothing;
  }));
  EXPECT_TRUE(lock.verify());
  EXPECT_TRUE(lock.unlock_confirmed());
}

TEST(ClientThreads, NeitherTheConstructorNorACopyOpensAnything) {
  // Nobody listens there, and no such file can be made.
  const Client redis{"redis://127.0.0.1:1"};
  const Client sqlite{config::Configuration::from_url("sqlite:/nowhere/at/all.db")};
  const Client copy = sqlite;
  EXPECT_THROW(static_cast<void>(copy.try_lock("order")), Error);
  EXPECT_THROW(Client{"nonsense:"}, Error);
}

}  // namespace
}  // namespace simba
