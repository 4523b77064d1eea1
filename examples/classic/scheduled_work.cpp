// Work that is done periodically, but only by the leader: simba::Scheduler. Let every instance
// of a service start one; whichever leads does the work, and another takes over when it is gone.
//
//   simba-example-classic-scheduled-work [URL of a store]

#include <chrono>
#include <iostream>
#include <semaphore>
#include <string>
#include <syncstream>

#include "simba/config/make_factory.hpp"
#include "simba/core/error.hpp"
#include "simba/schedule/scheduler.hpp"
#include "store_url.hpp"

using namespace std::chrono_literals;

/// One instance of the service. It would be a process of its own.
class Instance {
 public:
  Instance(std::string name, simba::MutexServiceFactory& factory)
      : name_{std::move(name)},
        // At once when it becomes leader, and then each 100 ms; `delay` would count from the end of
        // a run to the beginning of the next.
        scheduler_{"example-work", factory, simba::ScheduleConfig::rate(0ms, 100ms),
                   [this](const std::stop_token& stop) { work(stop); }} {}

  void start() { scheduler_.start(); }
  void stop() { scheduler_.stop(); }  // waits for the run that is under way
  void wait_for_run() { runs_.acquire(); }

 private:
  // Runs never overlap. `stop` is fired when leadership is lost: a long run looks at it often.
  void work(const std::stop_token& stop) {
    if (stop.stop_requested()) return;
    std::osyncstream{std::cout} << name_ << " does the work" << std::endl;
    runs_.release();
  }

  const std::string name_;
  std::counting_semaphore<> runs_{0};
  simba::Scheduler scheduler_;  // the last member: it is stopped before the others are gone
};

int main(int argc, char** argv) try {
  const auto factory = simba::make_factory(store_url(argc, argv));
  Instance first{"the first instance", *factory};
  Instance second{"the second instance", *factory};
  first.start();
  for (int run = 0; run < 3; ++run) first.wait_for_run();
  second.start();  // does nothing yet: it does not lead
  first.stop();
  for (int run = 0; run < 3; ++run) second.wait_for_run();
  return 0;
} catch (const simba::Error& error) {
  std::cerr << "simba-example-classic-scheduled-work: " << error.what() << std::endl;
  return 1;
}
