#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include "redis_raw.hpp"
#include "sql_bench.hpp"

/// Hand-over between processes by Redis: how long it takes, and how many commands.
namespace simba::bench {

// ---- the bare way -----------------------------------------------------------------------------

struct BareRounds {
  static constexpr std::size_t count = 200;
  using Times = std::array<std::atomic<std::int64_t>, count + 1>;

  std::atomic<std::size_t> listening{0};
  std::atomic<std::size_t> answered{0};
  std::atomic<std::int64_t> sent_at{0};
  Times heard{};  ///< the message has come to the subscriber
  Times own{};    ///< the subscriber has the reply to the command that it sent then
  Times back{};   ///< the sender has the message by which the subscriber has answered
};

struct BareMilliseconds {
  double heard;
  double own;
  double back;
};

/// One process publishes, another has subscribed and publishes an answer at once, over bare
/// hiredis. Each round comes after a pause.
inline BareMilliseconds bare_milliseconds(const support::Location& at,
                                          std::chrono::milliseconds pause) {
  const Shared<BareRounds> shared;
  const auto stamp = [&](BareRounds::Times& times, std::size_t round) {
    times.at(round) = nanoseconds_now() - shared->sent_at;
  };
  const pid_t subscriber = in_process([&] {
    RawRedis commands{at};
    RawRedis messages{at};
    messages.ask({"SUBSCRIBE", "simba:there"});
    ++shared->listening;
    for (std::size_t round = 1; round <= BareRounds::count; ++round) {
      messages.receive();
      stamp(shared->heard, round);
      commands.ask({"PUBLISH", "simba:back", "released@@someone"});
      stamp(shared->own, round);
    }
  });
  const pid_t sender = in_process([&] {
    RawRedis commands{at};
    RawRedis messages{at};
    messages.ask({"SUBSCRIBE", "simba:back"});
    wait_until([&] { return shared->listening == 1; });
    for (std::size_t round = 1; round <= BareRounds::count; ++round) {
      std::this_thread::sleep_for(pause);
      shared->sent_at = nanoseconds_now();
      commands.ask({"PUBLISH", "simba:there", "released@@someone"});
      messages.receive();
      stamp(shared->back, round);
    }
  });
  waitpid(subscriber, nullptr, 0);
  waitpid(sender, nullptr, 0);
  const auto p50 = [](const BareRounds::Times& times) {
    std::vector<double> took;
    for (std::size_t round = 1; round <= BareRounds::count; ++round) {
      took.push_back(static_cast<double>(times.at(round)) / 1e6);
    }
    return median(took);
  };
  return {p50(shared->heard), p50(shared->own), p50(shared->back)};
}

// ---- Simba's way ------------------------------------------------------------------------------

/// Two processes hand a mutex to and fro: from before the release to after the acquisition in the
/// other one. The one that waits has done so for a pause, and neither does anything else then.
inline double locker_milliseconds(const SqlProduct& product, std::chrono::milliseconds pause) {
  constexpr int hand_overs = 200;
  const Shared<HandOver> shared;
  std::vector<pid_t> pids;
  for (int side = 0; side < 2; ++side) {
    pids.push_back(in_process([&, side] {
      const auto factory = product.make_factory({});
      SimbaLocker locker{"hand-over", *factory};
      for (int turn = 1 + side; turn <= hand_overs; turn += 2) {
        wait_until([&] { return shared->acquired == turn - 1; });
        shared->waiting = turn;
        locker.acquire();
        shared->took.at(static_cast<std::size_t>(turn)) = nanoseconds_now() - shared->released_at;
        shared->acquired = turn;
        if (turn < hand_overs) wait_until([&] { return shared->waiting == turn + 1; });
        std::this_thread::sleep_for(pause);
        shared->released_at = nanoseconds_now();
        locker.close();
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

// ---- commands ---------------------------------------------------------------------------------

struct Turns {
  std::atomic<int> taken{0};
  std::atomic<int> ready{0};  ///< contenders that have had their second turn
  std::atomic<bool> over{false};
};

/// Contenders in several processes take turns, so that all but one wait all the time. Counts what
/// they send: for the hand-over itself, to wait again, and to keep their connections alive. It does
/// so when they have been at it for longer than a lease lasts.
inline double commands_per_hand_over(const SqlProduct& product, RedisCounts& counts, int waiters) {
  constexpr int hand_overs = 400;
  constexpr auto ttl = 2s;
  constexpr auto transition = 1s;
  const int processes = std::min(waiters + 1, 4);
  const Shared<Turns> shared;
  std::vector<pid_t> pids;
  for (int process = 0; process < processes; ++process) {
    pids.push_back(in_process([&, process] {
      const auto factory = product.make_factory({.ttl = ttl, .transition = transition});
      std::vector<std::jthread> contenders;
      for (int i = process; i < waiters + 1; i += processes) {
        contenders.emplace_back([&] {
          SimbaLocker locker{"turns", *factory};
          for (int turn = 1; !shared->over; ++turn) {
            locker.acquire();
            ++shared->taken;
            if (turn == 2) ++shared->ready;
            std::this_thread::sleep_for(1ms);
            locker.close();
          }
        });
      }
    }));
  }
  wait_until([&] { return shared->ready == waiters + 1; });
  std::this_thread::sleep_for(ttl + transition + 1s);
  const double before = counts.commands();
  const int turns_before = shared->taken;
  wait_until([&] { return shared->taken - turns_before >= hand_overs; });
  const double commands = counts.commands() - before;
  const int turns = shared->taken - turns_before;
  shared->over = true;
  for (const pid_t pid : pids) waitpid(pid, nullptr, 0);
  std::printf("Redis: %d waiters in %d processes: %.0f commands for %d hand-overs\n", waiters,
              processes, commands, turns);
  return commands / turns;
}

}  // namespace simba::bench
