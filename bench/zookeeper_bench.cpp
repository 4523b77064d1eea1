// The ZooKeeper store against the bare C client: acquire + release one after the other, hand-over
// between processes, and what 1,000 held mutexes cost.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include "sql_bench.hpp"
#include "support/zookeeper/zookeeper_console.hpp"
#include "support/zookeeper/zookeeper_servers.hpp"
#include "zookeeper_hand_over.hpp"
#include "zookeeper_raw.hpp"

namespace simba::bench {
namespace {

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>{std::chrono::steady_clock::now() - begin}.count();
}

// ---- acquire + release, one after the other ---------------------------------------------------

/// What one acquisition and its release are to the server.
double requests_of_round(const support::Location& at, Contestant& contestant) {
  constexpr int rounds = 1'000;
  std::vector<double> took;
  const double before = requests(at);
  rounds_of(contestant, rounds, took);
  return (requests(at) - before) / rounds;
}

/// Compares the middle ones of all rounds: a round that another program of the machine has
/// interrupted takes so long that a mean would tell of little else.
void serial_figure(const support::Location& at, Figures& figures) {
  constexpr int repetitions = 20;
  constexpr int rounds = 250;
  pin_to_core(1);
  std::vector<double> by_raw;
  std::vector<double> by_simba;
  double requests_of_raw = 0;
  double requests_of_simba = 0;
  {
    RawLatch raw{at, raw_mutex};
    ByLocker locker{at};
    requests_of_raw = requests_of_round(at, raw);
    requests_of_simba = requests_of_round(at, locker);
    for (int i = 0; i < repetitions; ++i) {
      rounds_of(raw, rounds, by_raw);
      rounds_of(locker, rounds, by_simba);
    }
  }
  unpin();
  std::printf(
      "ZooKeeper: acquire + release (create2 and getChildren sent at once, get of the own node "
      "with a watch, delete), p50: bare C client %.1f us with %.2f requests, SimbaLocker %.1f us "
      "with %.2f\n",
      median(by_raw), requests_of_raw, median(by_simba), requests_of_simba);
  figures.at_least("ZooKeeper: rate of acquire + release / that of the bare C client",
                   median(by_raw) / median(by_simba), 0.7, "x");
}

// ---- hand-over ---------------------------------------------------------------------------------

/// The longer the pause between hand-overs, the more has left the caches of the processors when the
/// next one comes.
double hand_over_ratio(const support::Location& at, std::chrono::milliseconds pause) {
  constexpr int repetitions = 5;
  std::vector<double> raw;
  std::vector<double> service;
  std::vector<double> locker;
  for (int i = 0; i < repetitions; ++i) {
    raw.push_back(
        p50_milliseconds([&] { return std::make_unique<RawLatch>(at, raw_mutex); }, pause));
    service.push_back(p50_milliseconds([&] { return std::make_unique<ByService>(at); }, pause));
    locker.push_back(p50_milliseconds([&] { return std::make_unique<ByLocker>(at); }, pause));
  }
  std::printf(
      "ZooKeeper: hand-over between processes, p50, each after %d ms of rest: bare C client, from "
      "the delete until getChildren is answered in the other: %.3f ms; Simba, from the stop of one "
      "service to on_acquired of the other: %.3f ms; from the close of one locker to after the "
      "acquire of the other: %.3f ms\n",
      static_cast<int>(pause.count()), median(raw), median(service), median(locker));
  std::fflush(stdout);
  return median(service) / median(raw);
}

void hand_over_figure(const support::Location& at, Figures& figures) {
  pin_to_core(1);
  // The server compiles what is used often.
  const pid_t warm_up = in_process([&] {
    RawLatch raw{at, raw_mutex};
    std::vector<double> took;
    rounds_of(raw, 5'000, took);
  });
  waitpid(warm_up, nullptr, 0);
  const double ratio = hand_over_ratio(at, 5ms);
  const double rested = hand_over_ratio(at, 20ms);
  unpin();
  figures.at_most("ZooKeeper: hand-over between processes, p50 / delete, watch, getChildren", ratio,
                  2, "x");
  figures.at_most("ZooKeeper: the same after 20 ms of rest", rested, 2, "x");
}

/// Seven: the one that releases sends delete; the next one getChildren, and get of its own node;
/// the first one, to wait again, create2, getChildren, and get of the node before and of the
/// owner's. And now and then a session gives a sign of life.
void requests_figures(const support::Location& at, Figures& figures) {
  constexpr double most = 8;
  const double of_2 = requests_per_hand_over(at, 2);
  const double of_8 = requests_per_hand_over(at, 8);
  const double of_32 = requests_per_hand_over(at, 32);
  figures.at_most("ZooKeeper: requests per hand-over with 2 waiters", of_2, most, "requests");
  figures.at_most("ZooKeeper: requests per hand-over with 8 waiters", of_8, most, "requests");
  figures.at_most("ZooKeeper: requests per hand-over with 32 waiters", of_32, most, "requests");
  figures.at_most("ZooKeeper: requests per hand-over with 32 waiters / with 2", of_32 / of_2, 1.1,
                  "x");
}

// ---- many that are held -----------------------------------------------------------------------

void held_figures(const support::Location& at, Figures& figures) {
  constexpr int held = 1'000;
  constexpr auto observed = 20s;  // longer than a session
  const auto factory = make_factory(at, 16s);
  std::vector<std::unique_ptr<Quiet>> contenders;
  std::vector<std::unique_ptr<MutexContendService>> services;
  const auto owned = [&] {
    return std::count_if(services.begin(), services.end(),
                         [](const auto& service) { return service->is_owner(); });
  };
  const double began = seconds_of([&] {
    for (int i = 0; i < held; ++i) {
      contenders.push_back(std::make_unique<Quiet>("held-" + std::to_string(i)));
      services.push_back(factory->create_mutex_contend_service(*contenders.back()));
      services.back()->start();
    }
    wait_until([&] { return owned() == held; });
  });
  std::this_thread::sleep_for(1s);  // the callbacks of the last ones

  const double before = requests(at);
  std::this_thread::sleep_for(observed);
  const double each_second =
      (requests(at) - before) / std::chrono::duration<double>{observed}.count();
  const auto threads = std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {});
  figures.at_least("ZooKeeper: mutexes of 1000 that are held for longer than a session",
                   static_cast<double>(owned()), held, "mutexes");
  figures.at_most("ZooKeeper: threads of a process with 1000 held mutexes",
                  static_cast<double>(threads), 6, "threads");
  const auto connections = static_cast<double>(support::zookeeper_connections(at).size());
  if (connections < 1) throw std::runtime_error{"the server does not tell its connections"};
  figures.at_most("ZooKeeper: connections for 1000 held mutexes", connections, 1, "connections");
  figures.at_most("ZooKeeper: requests for 1000 held mutexes", each_second, 1, "a second");
  const double ended = seconds_of([&] {
    for (const auto& service : services) service->close();
  });
  std::printf("ZooKeeper: %d mutexes acquired in %.2f s, released one after the other in %.2f s\n",
              held, began, ended);
}

int run() {
  pin_to_core(0);
  // It compiles as servers do that run for long, not as tests want it.
  const support::ZooKeeperServer server{{"-XX:TieredStopAtLevel=4"}};
  unpin();
  const auto at = server.location();
  support::ZooKeeperConsole{at}.create(raw_mutex, "");
  Figures figures;
  hand_over_figure(at, figures);
  requests_figures(at, figures);
  serial_figure(at, figures);
  held_figures(at, figures);
  return figures.exit_code();
}

}  // namespace
}  // namespace simba::bench

int main() { return simba::bench::run(); }
