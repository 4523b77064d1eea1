#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "figure.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/clock.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/locker/simba_locker.hpp"

/// What the benchmarks of the SQL stores have in common. Server and client are pinned to one core
/// each, the same way for Simba and for the raw driver that it is compared with.
namespace simba::bench {

using namespace std::chrono_literals;

/// A store and the raw driver below it.
struct SqlProduct {
  std::string name;
  std::function<std::unique_ptr<MutexServiceFactory>(const ContentionOptions&)> make_factory;

  /// Acquires and releases `rounds` times by the bare driver, with the statements of the store.
  std::function<void(int rounds)> raw;

  /// Makes `count` rows mutex-0, mutex-1, ... that another owns for an hour.
  std::function<void(int count)> occupy;

  /// Of this process's services.
  std::function<double()> connections;
  std::function<double()> statements;
};

/// The core that servers started from now on run on, or this process from now on.
inline void pin_to_core(unsigned core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core % std::thread::hardware_concurrency(), &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

inline void unpin() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (unsigned core = 0; core < std::thread::hardware_concurrency(); ++core) CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

/// What processes of a benchmark share.
template <class T>
class Shared {
 public:
  Shared()
      : memory_{mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0)},
        value_{new (memory_) T{}} {}
  ~Shared() { munmap(memory_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T* operator->() const { return value_; }

 private:
  void* memory_;
  T* value_;
};

/// Runs `body` in a process of its own. Called while this process has no other threads.
inline pid_t in_process(const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  return pid;
}

inline std::int64_t nanoseconds_now() {
  return make_system_clock()->now().time_since_epoch().count();
}

inline void wait_until(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(100us);
}

// ---- acquire + release, one after the other ---------------------------------------------------

inline void serial_figure(const SqlProduct& product, Figures& figures) {
  constexpr int repetitions = 11;
  constexpr int rounds = 150;
  pin_to_core(1);
  std::vector<double> raw;
  std::vector<double> simba;
  const auto milliseconds_of = [](const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    return took.count() / rounds;
  };
  {
    const auto factory = product.make_factory({});
    SimbaLocker locker{"serial", *factory};
    locker.acquire();
    locker.close();
    for (int i = 0; i < repetitions; ++i) {
      raw.push_back(milliseconds_of([&] { product.raw(rounds); }));
      simba.push_back(milliseconds_of([&] {
        for (int round = 0; round < rounds; ++round) {
          locker.acquire();
          locker.close();
        }
      }));
    }
  }
  unpin();
  std::printf("%s: acquire + release: raw driver %.3f ms, SimbaLocker %.3f ms\n",
              product.name.c_str(), median(raw), median(simba));
  figures.at_least(product.name + ": rate of acquire + release / that of the raw driver",
                   median(raw) / median(simba), 0.8, "x");
}

// ---- hand-over between processes --------------------------------------------------------------

struct HandOver {
  std::atomic<int> acquired{0};  ///< how many acquisitions there were; odd ones are of one process
  std::atomic<int> waiting{0};   ///< the number of the acquisition that is being waited for
  std::atomic<std::int64_t> released_at{0};
  std::array<std::atomic<std::int64_t>, 1'000> took{};
};

/// Two processes hand a mutex to and fro; each releases when the other has been waiting for a
/// while.
inline double hand_over_milliseconds(const SqlProduct& product) {
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
        std::this_thread::sleep_for(30ms);  // until the other waits in the store
        shared->released_at = nanoseconds_now();
        locker.close();
      }
    }));
  }
  for (const pid_t pid : pids) waitpid(pid, nullptr, 0);
  std::vector<double> took;
  for (std::size_t turn = 2; turn <= hand_overs; ++turn) {
    took.push_back(static_cast<double>(shared->took.at(turn)) / 1e6);
  }
  return median(took);
}

// ---- take-over from a killed process ----------------------------------------------------------

struct TakeOver {
  std::atomic<bool> owned{false};
  std::atomic<bool> waiting{false};
  std::atomic<std::int64_t> killed_at{0};
  std::atomic<std::int64_t> took{0};
};

/// The longest of many, with leases of all lengths.
inline double take_over_milliseconds(const SqlProduct& product) {
  constexpr int take_overs = 21;
  std::vector<double> took;
  for (int i = 0; i < take_overs; ++i) {
    ContentionOptions lease;
    lease.ttl = i % 2 == 0 ? 10s : 600s;
    const Shared<TakeOver> shared;
    const std::string mutex = "take-over-" + std::to_string(i);
    const pid_t owner = in_process([&] {
      const auto factory = product.make_factory(lease);
      SimbaLocker locker{mutex, *factory};
      locker.acquire();
      shared->owned = true;
      pause();
    });
    wait_until([&] { return shared->owned.load(); });
    const pid_t waiter = in_process([&] {
      const auto factory = product.make_factory(lease);
      SimbaLocker locker{mutex, *factory};
      static_cast<void>(locker.try_acquire());
      shared->waiting = true;
      locker.acquire();
      shared->took = nanoseconds_now() - shared->killed_at;
    });
    wait_until([&] { return shared->waiting.load(); });
    std::this_thread::sleep_for(30ms);  // until it waits in the store
    shared->killed_at = nanoseconds_now();
    kill(owner, SIGKILL);
    waitpid(waiter, nullptr, 0);
    waitpid(owner, nullptr, 0);
    took.push_back(static_cast<double>(shared->took) / 1e6);
  }
  std::printf("%s: take-over after a kill: p50 of %d: %.1f ms\n", product.name.c_str(), take_overs,
              median(took));
  return *std::max_element(took.begin(), took.end());
}

// ---- many that wait ---------------------------------------------------------------------------

class Quiet final : public AbstractMutexContender {
 public:
  using AbstractMutexContender::AbstractMutexContender;
  void on_acquired(const MutexState& /*state*/) override {}
  void on_released(const MutexState& /*state*/) override {}
};

inline void waiters_figures(const SqlProduct& product, Figures& figures) {
  constexpr int waiters = 1'000;
  constexpr auto observed = 20s;
  product.occupy(waiters);
  const auto factory = product.make_factory({});
  std::vector<std::unique_ptr<Quiet>> contenders;
  std::vector<std::unique_ptr<MutexContendService>> services;
  for (int i = 0; i < waiters; ++i) {
    contenders.push_back(std::make_unique<Quiet>("mutex-" + std::to_string(i)));
    services.push_back(factory->create_mutex_contend_service(*contenders.back()));
    services.back()->start();
  }
  std::this_thread::sleep_for(5s);
  const double before = product.statements();
  std::this_thread::sleep_for(observed);
  const double each_second =
      (product.statements() - before) / std::chrono::duration<double>{observed}.count();
  const auto threads = std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {});
  figures.at_most(product.name + ": statements for 1000 idle waiters", each_second, 25, "a second");
  figures.at_most(product.name + ": connections for 1000 idle waiters", product.connections(), 4,
                  "connections");
  figures.at_most(product.name + ": threads of a process with 1000 idle waiters",
                  static_cast<double>(threads), 8, "threads");
  for (const auto& service : services) service->close();
}

}  // namespace simba::bench
