// A pool of coroutines that lock what they work on, in plain C++20: simba::lock_async. A hundred of
// them wait at once, and no thread waits for any of them.
//
//   simba-example-worker-pool [URL of a store]

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <iostream>
#include <latch>
#include <string>
#include <utility>

#include "simba/simba.hpp"
#include "store_url.hpp"

using namespace std::chrono_literals;

namespace {

/// The least that a coroutine needs: it begins at once and frees itself at its end.
struct Job {
  struct promise_type {
    Job get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { std::terminate(); }
  };
};

/// What all jobs share. They are resumed on the callback threads of the client.
struct Pool {
  std::atomic<int> settled{0};
  std::atomic<int> failed{0};
  std::latch done;
};

Job settle(simba::Client client, std::string account, Pool& pool) {
  try {
    simba::Lock lock = co_await simba::lock_async(client, std::move(account), {.wait = 60s});
    ++pool.settled;  // stands for work on the account
    co_await simba::unlock_async(std::move(lock));
  } catch (const simba::Error& error) {
    std::cerr << error.what() << std::endl;
    ++pool.failed;
  }
  pool.done.count_down();
}

}  // namespace

int main(int argc, char** argv) try {
  constexpr int jobs = 100;
  const simba::Client client{store_url(argc, argv)};
  static_cast<void>(client.owner("example-account-0"));  // throws here if the store cannot be used
  Pool pool{.done = std::latch{jobs}};
  for (int i = 0; i < jobs; ++i) settle(client, "example-account-" + std::to_string(i % 10), pool);
  pool.done.wait();
  std::cout << pool.settled << " jobs on 10 accounts, one at a time on each" << std::endl;
  return pool.failed == 0 ? 0 : 1;
} catch (const simba::Error& error) {
  std::cerr << "simba-example-worker-pool: " << error.what() << std::endl;
  return 1;
}
