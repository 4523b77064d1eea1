#include <chrono>
#include <iostream>

#include <simba/core/mutex_owner.hpp>
#include <simba/locker/simba_locker.hpp>
#include <simba/memory/memory_factory.hpp>

int main() {
  const auto factory = simba::memory::make_memory_factory();
  simba::SimbaLocker locker{"package-test", *factory};
  locker.acquire(std::chrono::seconds{10});
  std::cout << "held with fencing token " << locker.fencing_token() << '\n';
  return locker.is_held() ? 0 : 1;
}
