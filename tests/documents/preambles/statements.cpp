// Statements inside a function of a program that has a factory.
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/time.hpp"
#include "simba/locker/simba_locker.hpp"

using namespace std::chrono_literals;

void settle(simba::FencingToken token, std::stop_token lost);
void sweep(std::stop_token stop);
void show(const std::string& owner);

void program(std::unique_ptr<simba::MutexServiceFactory> factory, simba::SimbaLocker& order_locker,
             simba::SimbaLocker& stock_locker, int order) {
  // SNIPPET
}
