#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include "simba/zookeeper/zookeeper_factory.hpp"
#include "sql_bench.hpp"
#include "support/zookeeper/zookeeper_console.hpp"
#include "zookeeper_raw.hpp"

/// Mutexes handed over by ZooKeeper: how long it takes, and how many requests.
namespace simba::bench {

inline constexpr const char* raw_mutex = "/raw/mutex";

inline std::unique_ptr<MutexServiceFactory> make_factory(const support::Location& at,
                                                         std::chrono::milliseconds session) {
  return zookeeper::make_zookeeper_factory({.connect_string = support::connect_string(at),
                                            .session_timeout = session,
                                            .tick_time = support::zookeeper_tick});
}

/// What clients have sent to the server so far, without the questions of this function.
inline double requests(const support::Location& at) {
  static std::int64_t asked = 0;
  const auto packets = support::zookeeper_figure(at.port, "zk_packets_received");
  if (packets < 0) throw std::runtime_error{"the server does not tell its packets"};
  return static_cast<double>(packets - ++asked);
}

// ---- Simba as a contestant --------------------------------------------------------------------

class ByLocker final : public Contestant {
 public:
  explicit ByLocker(const support::Location& at) : factory_{make_factory(at, 16s)} {}

  std::int64_t acquire() override {
    locker_.acquire();
    return nanoseconds_now();
  }
  void release() override { locker_.close(); }

 private:
  const std::unique_ptr<MutexServiceFactory> factory_;
  SimbaLocker locker_{"by-locker", *factory_};
};

class ByService final : public Contestant {
 public:
  explicit ByService(const support::Location& at) : factory_{make_factory(at, 16s)} {}

  std::int64_t acquire() override {
    service_->start();
    contender_.acquired.acquire();
    return contender_.acquired_at;
  }
  void release() override { service_->stop(); }

 private:
  struct Contender final : AbstractMutexContender {
    using AbstractMutexContender::AbstractMutexContender;
    void on_acquired(const MutexState& /*state*/) override {
      acquired_at = nanoseconds_now();
      acquired.release();
    }
    void on_released(const MutexState& /*state*/) override {}

    std::binary_semaphore acquired{0};
    std::int64_t acquired_at = 0;
  };

  const std::unique_ptr<MutexServiceFactory> factory_;
  Contender contender_{"by-service"};
  const std::unique_ptr<MutexContendService> service_ =
      factory_->create_mutex_contend_service(contender_);
};

// ---- how long ----------------------------------------------------------------------------------

/// Acquires and releases; adds to `took` how many microseconds each round has taken.
inline void rounds_of(Contestant& contestant, int rounds, std::vector<double>& took) {
  for (int round = 0; round < rounds; ++round) {
    const auto begin = nanoseconds_now();
    contestant.acquire();
    contestant.release();
    took.push_back(static_cast<double>(nanoseconds_now() - begin) / 1e3);
  }
}

using MakeContestant = std::function<std::unique_ptr<Contestant>()>;

/// Two processes hand a mutex to and fro: from before the release to when the other hears that it
/// has it. The one that waits has done so for a pause, and neither does anything else then.
inline double p50_milliseconds(const MakeContestant& make, std::chrono::milliseconds pause) {
  constexpr int hand_overs = 100;
  const Shared<HandOver> shared;
  std::vector<pid_t> pids;
  for (int side = 0; side < 2; ++side) {
    pids.push_back(in_process([&, side] {
      const auto contestant = make();
      for (int turn = 1 + side; turn <= hand_overs; turn += 2) {
        wait_until([&] { return shared->acquired == turn - 1; });
        shared->waiting = turn;
        const auto acquired_at = contestant->acquire();
        shared->took.at(static_cast<std::size_t>(turn)) = acquired_at - shared->released_at;
        shared->acquired = turn;
        if (turn < hand_overs) wait_until([&] { return shared->waiting == turn + 1; });
        std::this_thread::sleep_for(pause);
        shared->released_at = nanoseconds_now();
        contestant->release();
        std::this_thread::sleep_for(pause / 2);
      }
    }));
  }
  for (const pid_t pid : pids) waitpid(pid, nullptr, 0);
  std::vector<double> took;
  for (std::size_t turn = 3; turn <= hand_overs; ++turn) {  // not the first wait of each
    took.push_back(static_cast<double>(shared->took.at(turn)) / 1e6);
  }
  return median(took);
}

// ---- how many requests -------------------------------------------------------------------------

struct Turns {
  std::atomic<int> taken{0};
  std::atomic<int> ready{0};  ///< contenders that have had their second turn
  std::atomic<bool> over{false};
};

/// Contenders in several processes take turns, so that all but one wait all the time. Counts what
/// they send: for the hand-over itself, to wait again, and to keep their sessions alive. It does so
/// when they have been at it for longer than a session lasts. A mutex is held for longer than it
/// takes to join the queue: who sees the owner go meanwhile has to look again.
inline double requests_per_hand_over(const support::Location& at, int waiters) {
  constexpr int hand_overs = 400;
  constexpr auto session = 3s;
  constexpr auto hold = 5ms;
  const int processes = std::min(waiters + 1, 4);
  const Shared<Turns> shared;
  std::vector<pid_t> pids;
  for (int process = 0; process < processes; ++process) {
    pids.push_back(in_process([&, process] {
      const auto factory = make_factory(at, session);
      std::vector<std::jthread> contenders;
      for (int i = process; i < waiters + 1; i += processes) {
        contenders.emplace_back([&] {
          SimbaLocker locker{"turns", *factory};
          for (int turn = 1; !shared->over; ++turn) {
            locker.acquire();
            ++shared->taken;
            if (turn == 2) ++shared->ready;
            std::this_thread::sleep_for(hold);
            locker.close();
          }
        });
      }
    }));
  }
  wait_until([&] { return shared->ready == waiters + 1; });
  std::this_thread::sleep_for(session + 1s);
  const auto began = nanoseconds_now();
  const double before = requests(at);
  const int turns_before = shared->taken;
  wait_until([&] { return shared->taken - turns_before >= hand_overs; });
  const double sent = requests(at) - before;
  const int turns = shared->taken - turns_before;
  const double seconds = static_cast<double>(nanoseconds_now() - began) / 1e9;
  shared->over = true;
  for (const pid_t pid : pids) waitpid(pid, nullptr, 0);
  std::printf("ZooKeeper: %d waiters in %d processes: %.0f requests for %d hand-overs in %.1f s\n",
              waiters, processes, sent, turns, seconds);
  std::fflush(stdout);
  return sent / turns;
}

}  // namespace simba::bench
