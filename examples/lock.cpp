// A lock that is held by one process at a time, on however many machines: simba::Lock.
// Start it in two terminals at once: the second waits for the first.
//
//   simba-example-lock [URL of a store]

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>

#include "simba/simba.hpp"
#include "store_url.hpp"

using namespace std::chrono_literals;

int main(int argc, char** argv) try {
  // A program needs one client for all its mutexes: it holds the connections and the threads.
  const simba::Client client{store_url(argc, argv)};

  std::cout << "waiting for the lock" << std::endl;
  simba::Lock lock = client.lock("example-lock", {.wait = 20s});  // throws TimeoutError after that

  // Each acquisition has a number that is greater than all before it. Send it along with whatever
  // you write, and let the receiver refuse smaller ones: examples/fenced_resource shows how.
  std::cout << "got it, with fencing token " << lock.fencing_token() << std::endl;

  // The lock can be lost while we work: the store may be out of reach for too long. Then this token
  // is fired before anyone else can get the lock, so stop at once.
  const std::stop_token lost = lock.lost();
  std::mutex mutex;
  std::condition_variable_any never;
  for (int step = 1; step <= 3 && !lost.stop_requested(); ++step) {
    std::cout << "working, step " << step << " of 3" << std::endl;
    std::unique_lock waiting{mutex};
    never.wait_for(waiting, lost, 200ms, [] { return false; });  // stands for work; a loss ends it
  }

  // Nobody else gets it meanwhile.
  if (client.try_lock("example-lock", {.wait = 100ms}).outcome() == simba::LockOutcome::timed_out) {
    std::cout << "another one gave up waiting" << std::endl;
  }

  lock.unlock();  // the destructor would do it, too
  std::cout << "given back; now the other one "
            << (client.try_lock("example-lock", {.wait = 20s}) ? "has it" : "is too late")
            << std::endl;
  return 0;
} catch (const simba::Error& error) {
  std::cerr << "simba-example-lock: " << error.what() << std::endl;
  return 1;
}
