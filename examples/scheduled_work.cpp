// Work that is done periodically, but only by the leader: simba::Schedule. Let every instance
// of a service start one; whichever leads does the work, and another takes over when it is gone.
//
//   simba-example-scheduled-work [URL of a store]

#include <chrono>
#include <iostream>
#include <semaphore>
#include <string>
#include <syncstream>
#include <utility>

#include "simba/simba.hpp"
#include "store_url.hpp"

using namespace std::chrono_literals;

/// One instance of the service. It would be a process of its own.
class Instance {
 public:
  Instance(std::string name, const simba::Client& client)
      : name_{std::move(name)},
        // At once when it becomes leader, and then each 100 ms.
        schedule_{client.schedule("example-work", simba::every(100ms),
                                  [this](const simba::Run& run) { work(run); })} {}

  void stop() { schedule_.stop(); }  // waits for the run that is under way
  void wait_for_run() { runs_.acquire(); }

 private:
  // Runs never overlap. `stop()` is fired when leadership is lost: a long run looks at it often.
  void work(const simba::Run& run) {
    if (run.stop().stop_requested()) return;
    std::osyncstream{std::cout} << name_ << " does the work" << std::endl;
    runs_.release();
  }

  const std::string name_;
  std::counting_semaphore<> runs_{0};
  simba::Schedule schedule_;  // the last member: it is stopped before the others are gone
};

int main(int argc, char** argv) try {
  const simba::Client client{store_url(argc, argv)};
  Instance first{"the first instance", client};
  for (int run = 0; run < 3; ++run) first.wait_for_run();
  Instance second{"the second instance", client};  // does nothing yet: it does not lead
  first.stop();
  for (int run = 0; run < 3; ++run) second.wait_for_run();
  return 0;
} catch (const simba::Error& error) {
  std::cerr << "simba-example-scheduled-work: " << error.what() << std::endl;
  return 1;
}
