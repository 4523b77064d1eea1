// Makes a store from a URL, and catches an error of the library.
#include <iostream>

#include <simba/config/make_factory.hpp>
#include <simba/core/error.hpp>
#include <simba/core/mutex_service_factory.hpp>
#include <simba/locker/simba_locker.hpp>
#include <simba/version.hpp>

int main() {
  try {
    simba::make_factory("no-such-store:");
    return 1;
  } catch (const simba::Error& e) {
    std::cout << "simba " << simba::version << " refuses: " << e.what() << '\n';
  }
  const auto factory = simba::make_factory("memory:");
  simba::SimbaLocker locker{"package-test", *factory};
  return locker.try_acquire() ? 0 : 1;
}
