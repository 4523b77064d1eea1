// The store under real threads. Run under ThreadSanitizer these tests say more.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "simba/memory/memory_store.hpp"
#include "support/safety.hpp"

namespace simba::memory {
namespace {

using engine::LeaseAnswer;
using engine::LeaseRecord;
using engine::LeaseRequest;
using engine::Notice;
using namespace std::chrono_literals;

LeaseRequest request_of(const std::string& contender) { return {"m", contender, 60s, 0s}; }

LeaseRecord acquire(MemoryStore& store, const std::string& contender) {
  LeaseRecord record;
  store.acquire(request_of(contender), [&](const LeaseAnswer& a) { record = *a.record(); });
  return record;
}

void release(MemoryStore& store, const std::string& contender, FencingToken token) {
  store.release(request_of(contender), token, [](const LeaseAnswer&) {});
}

TEST(MemoryStoreThreads, BargingContendersAreNeverInsideTogether) {
  MemoryStore store{make_system_clock()};
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::atomic<FencingToken> last{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, id = "c" + std::to_string(t)] {
        for (int entered = 0; entered < 500;) {
          const LeaseRecord record = acquire(store, id);
          if (record.owner_id != id) {
            std::this_thread::yield();
            continue;
          }
          overlaps += inside.fetch_add(1);
          overlaps += record.fencing_token <= last.exchange(record.fencing_token) ? 1 : 0;
          --inside;
          ++entered;
          release(store, id, record.fencing_token);
        }
      });
    }
  }
  EXPECT_EQ(overlaps, 0) << support::safety_violation << "two owners, or a token that did not grow";
  EXPECT_EQ(last, 2000U);
}

/// A turn that is granted by notice alone. Shared: a notice may come when nobody waits any more.
struct Turn {
  std::mutex mutex;
  std::condition_variable condition;
  FencingToken token = 0;
};

FencingToken wait_for_turn(MemoryStore& store, const std::string& id) {
  const auto turn = std::make_shared<Turn>();
  const auto watch = store.watch(request_of(id), [turn](const Notice& notice) {
    if (notice.kind == Notice::Kind::granted) {
      const std::lock_guard lock{turn->mutex};
      turn->token = notice.record->fencing_token;
      turn->condition.notify_all();
    }
  });
  std::unique_lock lock{turn->mutex};
  EXPECT_TRUE(turn->condition.wait_for(lock, 30s, [&] { return turn->token != 0; }));
  return turn->token;
}

TEST(MemoryStoreThreads, HandOverReachesEveryWaiterAndNoneIsInsideWithAnother) {
  MemoryStore store{make_system_clock()};
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::atomic<int> turns{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, id = "w" + std::to_string(t)] {
        for (int i = 0; i < 200; ++i) {
          const FencingToken token = wait_for_turn(store, id);
          overlaps += inside.fetch_add(1);
          ++turns;
          --inside;
          release(store, id, token);
        }
      });
    }
  }
  EXPECT_EQ(overlaps, 0) << support::safety_violation << "two owners, or a token that did not grow";
  EXPECT_EQ(turns, 800);
}

TEST(MemoryStoreThreads, ObserversThatComeAndGoSeeOwnersInTheOrderOfTheirTokens) {
  MemoryStore store{make_system_clock()};
  struct Seen {
    FencingToken last = 0;  // not atomic: notices of one mutex come one at a time
    std::atomic<int> disorder{0};
  };
  const auto observe = [&store](const std::shared_ptr<Seen>& seen) {
    return store.watch(request_of(""), [seen](const Notice& notice) {
      const FencingToken token = notice.record->fencing_token;
      seen->disorder += token != 0 && token <= seen->last ? 1 : 0;
      seen->last = std::max(seen->last, token);
    });
  };
  const auto faithful = std::make_shared<Seen>();
  std::atomic<int> disorder{0};
  {
    const auto watch = observe(faithful);
    std::vector<std::jthread> threads;
    threads.reserve(3);
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, id = "c" + std::to_string(t)] {
        for (int i = 0; i < 500; ++i) {
          const auto fickle = std::make_shared<Seen>();
          const auto watch_for_a_while = observe(fickle);
          const LeaseRecord record = acquire(store, id);
          release(store, id, record.fencing_token);
          disorder += fickle->disorder;
        }
      });
    }
  }
  EXPECT_EQ(disorder, 0);
  EXPECT_EQ(faithful->disorder, 0);
  EXPECT_GT(faithful->last, 0U);
}

}  // namespace
}  // namespace simba::memory
