// An uncontended acquire and release through SimbaLocker on the in-memory store, against the time
// in which one thread hands over to another by std::mutex and std::condition_variable, and against
// the same without statistics. All are measured in turn in the same run, so that the ratios say
// more than the numbers.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "figure.hpp"
#include "simba/core/runtime.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/memory/memory_factory.hpp"

namespace simba::bench {
namespace {

constexpr int repetitions = 15;
constexpr int rounds = 4000;

double nanoseconds_each(int count, const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / count;
}

/// One way from one thread to the other, who waits in the condition variable.
double hand_over() {
  std::mutex mutex;
  std::condition_variable changed;
  bool here = true;
  const auto pass = [&](bool mine) {
    for (int i = 0; i < rounds; ++i) {
      std::unique_lock lock{mutex};
      changed.wait(lock, [&] { return here == mine; });
      here = !mine;
      changed.notify_one();
    }
  };
  return nanoseconds_each(2 * rounds, [&] {
    const std::jthread there{pass, false};
    pass(true);
  });
}

double same_locker(MutexContendServiceFactory& factory) {
  SimbaLocker locker{"bench", factory};
  return nanoseconds_each(rounds, [&] {
    for (int i = 0; i < rounds; ++i) {
      locker.acquire();
      locker.close();
    }
  });
}

double new_locker(MutexContendServiceFactory& factory) {
  return nanoseconds_each(rounds, [&] {
    for (int i = 0; i < rounds; ++i) SimbaLocker{"bench", factory}.acquire();
  });
}

/// Of this thread, on which all of it happens: what else the machine does is not counted.
double processor_nanoseconds() {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) * 1e9 + static_cast<double>(spent.tv_nsec);
}

/// New lockers of the one as a multiple of those of the other, in short turns.
double ratio_of(MutexContendServiceFactory& one, MutexContendServiceFactory& other) {
  constexpr int in_a_turn = 100;
  const auto spent_on = [](MutexContendServiceFactory& factory) {
    const double begin = processor_nanoseconds();
    for (int i = 0; i < in_a_turn; ++i) SimbaLocker{"bench", factory}.acquire();
    return processor_nanoseconds() - begin;
  };
  double of_one = 0;
  double of_other = 0;
  for (int turn = 0; turn < rounds / in_a_turn; ++turn) {
    of_one += spent_on(one);
    of_other += spent_on(other);
  }
  return of_one / of_other;
}

int run() {
  const auto runtime = make_runtime();
  const auto factory =
      memory::make_memory_factory({.contention = {}, .store = {}, .runtime = runtime});
  const auto uncounted_runtime = std::make_shared<Runtime>(*runtime);
  uncounted_runtime->statistics.reset();
  const auto uncounted_factory =
      memory::make_memory_factory({.contention = {}, .store = {}, .runtime = uncounted_runtime});
  std::vector<double> hand_overs;
  std::vector<double> same;
  std::vector<double> fresh;
  std::vector<double> counted;  // as a multiple of the same uncounted
  for (int i = 0; i < repetitions; ++i) {
    hand_overs.push_back(hand_over());
    same.push_back(same_locker(*factory));
    fresh.push_back(new_locker(*factory));
    counted.push_back(ratio_of(*factory, *uncounted_factory));
  }
  const double unit = median(hand_overs);
  std::printf("hand-over by condition variable  %8.0f ns\n", unit);
  std::printf("acquire + release, same locker   %8.0f ns\n", median(same));
  std::printf("acquire + release, new locker    %8.0f ns\n", median(fresh));
  Figures figures;
  figures.at_most("acquire + release of one locker / hand-over", median(same) / unit, 5, "x");
  figures.at_most("the same with a new locker each time / hand-over", median(fresh) / unit, 5, "x");
  figures.at_most("the latter with statistics / without", median(counted), 1.02, "x");
  return figures.exit_code();
}

}  // namespace
}  // namespace simba::bench

int main() { return simba::bench::run(); }
