// The Redis store against bare hiredis and redis-benchmark: acquire + release one after the other,
// 64 mutexes at once, hand-over between processes, and what 10,000 held mutexes cost.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "redis_hand_over.hpp"
#include "redis_raw.hpp"
#include "simba/redis/redis_factory.hpp"
#include "sql_bench.hpp"
#include "support/redis/redis_client_options.hpp"
#include "support/servers.hpp"

namespace simba::bench {
namespace {

/// Judged together at the end, so that they stand in one table.
class Table {
 public:
  void at_least(const std::string& what, double measured, double goal, const std::string& unit) {
    rows_.emplace_back([=](Figures& figures) { figures.at_least(what, measured, goal, unit); });
  }

  void at_most(const std::string& what, double measured, double goal, const std::string& unit) {
    rows_.emplace_back([=](Figures& figures) { figures.at_most(what, measured, goal, unit); });
  }

  int print() const {
    Figures figures;
    for (const auto& row : rows_) row(figures);
    return figures.exit_code();
  }

 private:
  std::vector<std::function<void(Figures&)>> rows_;
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>{std::chrono::steady_clock::now() - begin}.count();
}

// ---- acquire + release, one after the other ---------------------------------------------------

void serial_figure(const SqlProduct& product, RawRedis& raw, Table& table) {
  constexpr int repetitions = 21;
  constexpr int rounds = 500;
  const engine::LeaseRequest request{
      .mutex = "raw", .contender_id = "0:12345@127.0.0.1", .ttl = 10s, .transition = 6s};
  pin_to_core(1);
  std::vector<double> by_raw;
  std::vector<double> by_simba;
  {
    const auto factory = product.make_factory({});
    SimbaLocker locker{"serial", *factory};
    const auto by_locker = [&] {
      for (int round = 0; round < rounds; ++round) {
        locker.acquire();
        locker.close();
      }
    };
    by_locker();
    for (int i = 0; i < repetitions; ++i) {
      by_raw.push_back(seconds_of([&] { raw.acquire_and_release(request, rounds); }) / rounds);
      by_simba.push_back(seconds_of(by_locker) / rounds);
    }
  }
  unpin();
  std::printf("Redis: acquire + release: bare hiredis %.1f us, SimbaLocker %.1f us\n",
              1e6 * median(by_raw), 1e6 * median(by_simba));
  table.at_least("Redis: rate of acquire + release / that of bare hiredis",
                 median(by_raw) / median(by_simba), 0.7, "x");
}

// ---- many at once -----------------------------------------------------------------------------

/// Scripts a second by as many lockers, each with a mutex and a thread of its own: to release is to
/// wait for the store's answer, so fewer threads would have fewer scripts under way.
double scripts_a_second(MutexServiceFactory& factory, int mutexes) {
  constexpr auto measured = 1s;
  std::atomic<bool> over{false};
  std::atomic<int> scripts{0};
  const double took = seconds_of([&] {
    std::vector<std::jthread> threads;
    for (int i = 0; i < mutexes; ++i) {
      threads.emplace_back([&, i] {
        SimbaLocker locker{"many-" + std::to_string(i), factory};
        int rounds = 0;
        for (; !over; ++rounds) {
          locker.acquire();
          locker.close();
        }
        scripts += 2 * rounds;
      });
    }
    std::this_thread::sleep_for(measured);
    over = true;
  });
  return scripts / took;
}

void many_figure(const SqlProduct& product, const support::Location& at, RedisCounts& counts,
                 Table& table) {
  constexpr int repetitions = 5;
  constexpr int mutexes = 64;
  RedisBenchmark benchmark{at, counts.console(), mutexes};
  std::vector<double> by_tool;
  std::vector<double> by_simba;
  pin_to_core(1);
  {
    const auto factory = product.make_factory({});
    for (int i = 0; i < repetitions; ++i) {
      by_tool.push_back(benchmark.scripts_a_second());
      by_simba.push_back(scripts_a_second(*factory, mutexes));
    }
  }
  unpin();
  std::printf("Redis: %d mutexes at once: redis-benchmark %.0f scripts a second, Simba %.0f\n",
              mutexes, median(by_tool), median(by_simba));
  table.at_least("Redis: rate of 64 mutexes at once / that of redis-benchmark with 64 clients",
                 median(by_simba) / median(by_tool), 0.6, "x");
}

// ---- hand-over --------------------------------------------------------------------------------

/// The longer the pause between hand-overs, the more has left the caches of the processors when the
/// next one comes: more of what Simba needs than of what PUBLISH needs.
double hand_over_ratio(const SqlProduct& product, const support::Location& at,
                       std::chrono::milliseconds pause) {
  constexpr int repetitions = 5;
  std::vector<double> heard;
  std::vector<double> own;
  std::vector<double> back;
  std::vector<double> simba;
  for (int i = 0; i < repetitions; ++i) {
    const auto bare = bare_milliseconds(at, pause);
    heard.push_back(bare.heard);
    own.push_back(bare.own);
    back.push_back(bare.back);
    simba.push_back(locker_milliseconds(product, pause));
  }
  std::printf(
      "Redis: p50, each after %d ms of rest: hand-over, from before the release to after the "
      "acquisition in the other process: %.3f ms; PUBLISH by bare hiredis, until the subscriber "
      "has the message: %.3f ms, until it has the reply to the command that it sends then: %.3f "
      "ms, until the sender has the message of that command: %.3f ms\n",
      static_cast<int>(pause.count()), median(simba), median(heard), median(own), median(back));
  std::fflush(stdout);
  return median(simba) / std::min(median(own), median(back));
}

void hand_over_figure(const SqlProduct& product, const support::Location& at, Table& table) {
  pin_to_core(1);
  const double ratio = hand_over_ratio(product, at, 2ms);
  const double rested = hand_over_ratio(product, at, 20ms);
  unpin();
  std::printf("Redis: hand-over / PUBLISH, subscriber, reply: after 20 ms of rest %.2f x\n",
              rested);
  table.at_most("Redis: hand-over between processes, p50 / that of PUBLISH, subscriber, reply",
                ratio, 1.5, "x");
}

void commands_figures(const SqlProduct& product, RedisCounts& counts, Table& table) {
  const double of_2 = commands_per_hand_over(product, counts, 2);
  const double of_8 = commands_per_hand_over(product, counts, 8);
  const double of_32 = commands_per_hand_over(product, counts, 32);
  table.at_most("Redis: commands per hand-over with 2 waiters", of_2, 3, "commands");
  table.at_most("Redis: commands per hand-over with 8 waiters", of_8, 3, "commands");
  table.at_most("Redis: commands per hand-over with 32 waiters", of_32, 3, "commands");
  table.at_most("Redis: commands per hand-over with 32 waiters / with 2", of_32 / of_2, 1.1, "x");
}

// ---- many that are held -----------------------------------------------------------------------

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Holds as many mutexes as said, and waits for one more, which makes it listen.
void held_figures(const SqlProduct& product, RawRedis& raw, RedisCounts& counts, Table& table) {
  constexpr int held = 10'000;
  constexpr auto observed = 12s;  // two renewals of each
  raw.acquire({.mutex = "waited-for", .contender_id = "raw", .ttl = 600s, .transition = 6s});
  const auto factory = product.make_factory({});
  std::vector<std::unique_ptr<Quiet>> contenders;
  std::vector<std::unique_ptr<MutexContendService>> services;
  const auto add = [&](const std::string& mutex) {
    contenders.push_back(std::make_unique<Quiet>(mutex));
    services.push_back(factory->create_mutex_contend_service(*contenders.back()));
    services.back()->start();
  };
  const double began = seconds_of([&] {
    for (int i = 0; i < held; ++i) add("held-" + std::to_string(i));
    wait_until([&] {
      return std::all_of(services.begin(), services.end(),
                         [](const auto& service) { return service->is_owner(); });
    });
  });
  add("waited-for");
  std::this_thread::sleep_for(1s);  // the callbacks of the last ones, and the subscription

  const double scripts_before = counts.scripts();
  const double reads_before = counts.reads();
  const double cpu_before = cpu_seconds();
  std::this_thread::sleep_for(observed);
  const double cpu = cpu_seconds() - cpu_before;
  const double scripts = counts.scripts() - scripts_before;
  const double reads = counts.reads() - reads_before;
  const auto threads = std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {});
  const auto owned = std::count_if(services.begin(), services.end(),
                                   [](const auto& service) { return service->is_owner(); });
  const double seconds = std::chrono::duration<double>{observed}.count();
  std::printf(
      "Redis: %d mutexes: acquired in %.2f s; %.0f renewals a second, in %.0f reads of the "
      "server; %.1f %% of a core\n",
      held, began, scripts / seconds, reads / seconds, 100 * cpu / seconds);
  table.at_least("Redis: mutexes of 10000 that are held after two renewals",
                 static_cast<double>(owned), held, "mutexes");
  table.at_most("Redis: threads of a process with 10000 held mutexes", static_cast<double>(threads),
                6, "threads");
  table.at_most("Redis: connections for 10000 held mutexes", counts.connections(), 2,
                "connections");
  table.at_least("Redis: renewals of 10000 held mutexes", scripts, held, "renewals");
  table.at_least("Redis: renewals that the server gets by one read", scripts / reads, 10,
                 "renewals");
  const double ended = seconds_of([&] {
    for (const auto& service : services) service->close();
  });
  std::printf("Redis: %d mutexes released one after the other in %.2f s\n", held, ended);
}

int run() {
  pin_to_core(0);
  const support::RedisServer server;
  unpin();
  const auto at = server.location();
  SqlProduct product;
  product.name = "Redis";
  product.make_factory = [&](const ContentionOptions& options) {
    return redis::make_redis_factory(support::redis_options(at, options));
  };
  Table table;
  hand_over_figure(product, at, table);
  RedisCounts counts{at};
  commands_figures(product, counts, table);
  RawRedis raw{at};
  serial_figure(product, raw, table);
  many_figure(product, at, counts, table);
  held_figures(product, raw, counts, table);
  return table.print();
}

}  // namespace
}  // namespace simba::bench

int main() { return simba::bench::run(); }
