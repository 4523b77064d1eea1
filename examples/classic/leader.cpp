// Leader election by callbacks: simba::AbstractMutexContender and a contend service. Two candidates
// run here; start the program in several terminals and there are more, of whom one leads.
//
//   simba-example-classic-leader [URL of a store]

#include <iostream>
#include <semaphore>
#include <syncstream>

#include "simba/config/make_factory.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/error.hpp"
#include "store_url.hpp"

class Candidate : public simba::AbstractMutexContender {
 public:
  // It gets an id of its own, made of process and host, since we give none.
  Candidate() : AbstractMutexContender{"example-leader"} {}

  // The two callbacks take turns, one at a time, on a thread of the factory. They may take long:
  // the lease is renewed meanwhile.
  void on_acquired(const simba::MutexState& state) override {
    std::osyncstream{std::cout} << contender_id() << " leads, with fencing token "
                                << state.after().fencing_token() << std::endl;
    leads_.release();
  }
  void on_released(const simba::MutexState& /*state*/) override {
    std::osyncstream{std::cout} << contender_id() << " leads no longer" << std::endl;
  }

  void wait_until_it_leads() { leads_.acquire(); }

 private:
  std::counting_semaphore<> leads_{0};
};

int main(int argc, char** argv) try {
  const auto factory = simba::make_factory(store_url(argc, argv));
  // A candidate must outlive its service, so it comes first.
  Candidate first;
  Candidate second;
  const auto first_service = factory->create_mutex_contend_service(first);
  const auto second_service = factory->create_mutex_contend_service(second);

  first_service->start();  // does not wait: the callbacks tell
  first.wait_until_it_leads();
  second_service->start();

  // A leader that stops hands over: on_released runs while it still owns the mutex, and then the
  // next one is let in at once. After a crash that happens when the lease is over.
  first_service->stop();
  second.wait_until_it_leads();
  second_service->stop();
  return 0;
} catch (const simba::Error& error) {
  std::cerr << "simba-example-classic-leader: " << error.what() << std::endl;
  return 1;
}
