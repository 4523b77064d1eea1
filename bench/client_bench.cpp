// Locks of a client on Redis from one thread of an io_context: 64 mutexes at once, compared with
// bare hiredis, which sends the same scripts with as many under way, and one after the other,
// compared with the blocking functions. The server runs on one core, this process, with all threads
// of Simba, on another.
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include "redis_raw.hpp"
#include "simba/asio.hpp"
#include "simba/redis/redis_factory.hpp"
#include "simba/simba.hpp"
#include "sql_bench.hpp"
#include "support/redis/redis_client_options.hpp"
#include "support/servers.hpp"

namespace simba::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// A fixed time, which begins with the first question.
class Round {
 public:
  bool over() {
    const auto now = SteadyClock::now();
    if (!begun_) begun_ = now;
    return now - *begun_ >= length;
  }

  double a_second(int pairs) const {
    return pairs / std::chrono::duration<double>{SteadyClock::now() - *begun_}.count();
  }

 private:
  static constexpr std::chrono::milliseconds length{500};

  std::optional<SteadyClock::time_point> begun_;
};

void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

asio::awaitable<void> lock_and_unlock(Client client, std::string name, Round& round, int& pairs) {
  while (!round.over()) {
    Lock lock = co_await async_lock(client, name, {}, asio::use_awaitable);
    co_await async_unlock(std::move(lock), asio::use_awaitable);
    ++pairs;
  }
}

/// Pairs per second by as many coroutines on one thread.
double by_coroutines(const Client& client, int mutexes) {
  asio::io_context context;
  Round round;
  int pairs = 0;
  for (int i = 0; i < mutexes; ++i) {
    asio::co_spawn(context, lock_and_unlock(client, "many-" + std::to_string(i), round, pairs),
                   rethrow);
  }
  context.run();
  return round.a_second(pairs);
}

double by_blocking(const Client& client) {
  Round round;
  int pairs = 0;
  for (; !round.over(); ++pairs) {
    Lock lock = client.lock("many-0");
    static_cast<void>(lock.unlock_confirmed());
  }
  return round.a_second(pairs);
}

double by_hiredis(RawRedis& raw, int mutexes) {
  std::vector<engine::LeaseRequest> requests;
  for (int i = 0; i < mutexes; ++i) {
    requests.push_back({.mutex = "raw-" + std::to_string(i),
                        .contender_id = "0:12345@127.0.0.1-0123456789abcdef",
                        .ttl = 10s,
                        .transition = 6s});
  }
  Round round;
  const int pairs = raw.acquire_and_release_all(requests, [&] { return round.over(); });
  return round.a_second(pairs);
}

int run() {
  constexpr int mutexes = 64;
  constexpr int repetitions = 9;
  pin_to_core(0);
  const support::RedisServer server;
  pin_to_core(1);  // and with it every thread that is started from now on
  const auto at = server.location();
  RawRedis raw{at};
  const Client client{std::shared_ptr<MutexServiceFactory>{
      redis::make_redis_factory(support::redis_options(at, ContentionOptions{}))}};
  std::vector<double> bare;
  std::vector<double> many;
  std::vector<double> serial;
  std::vector<double> blocking;
  static_cast<void>(by_blocking(client));  // connects
  for (int i = 0; i < repetitions; ++i) {
    bare.push_back(by_hiredis(raw, mutexes));
    many.push_back(by_coroutines(client, mutexes));
    serial.push_back(by_coroutines(client, 1));
    blocking.push_back(by_blocking(client));
  }
  std::printf(
      "Redis: locks and unlocks a second: %d mutexes from one io_context thread %.0f, bare hiredis "
      "with as many scripts under way %.0f; one after the other by co_await %.0f, blocking %.0f\n",
      mutexes, median(many), median(bare), median(serial), median(blocking));
  Figures figures;
  figures.at_least("Redis: rate of 64 mutexes from one io_context thread / that of bare hiredis",
                   median(many) / median(bare), 0.7, "x");
  figures.at_least("Redis: rate of co_await lock + unlock / that of blocking ones",
                   median(serial) / median(blocking), 1, "x");
  return figures.exit_code();
}

}  // namespace
}  // namespace simba::bench

int main() { return simba::bench::run(); }
