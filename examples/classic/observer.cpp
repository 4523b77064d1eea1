// Seeing who owns a mutex without wanting it: simba::MutexRetriever and a retrieval service. E.g.
// to route requests to the leader.
//
//   simba-example-classic-observer [URL of a store]

#include <iostream>
#include <semaphore>
#include <string>
#include <syncstream>

#include "simba/config/make_factory.hpp"
#include "simba/core/error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "store_url.hpp"

class Observer : public simba::MutexRetriever {
 public:
  const std::string& mutex() const noexcept override { return mutex_; }

  // Called at each change of the owner, not at renewals. An owner of a very short time may be
  // missed; the last one never is.
  void notify_owner(const simba::MutexState& state) override {
    std::osyncstream out{std::cout};
    if (state.after().has_owner()) {
      out << "owner: " << state.after().owner_id() << ", fencing token "
          << state.after().fencing_token();
    } else {
      out << "no owner";
    }
    out << std::endl;
    changes_.release();
  }

  void wait_for_change() { changes_.acquire(); }

 private:
  const std::string mutex_ = "example-observed";
  std::counting_semaphore<> changes_{0};
};

int main(int argc, char** argv) try {
  const auto factory = simba::make_factory(store_url(argc, argv));
  Observer observer;
  const auto service = factory->create_mutex_retrieval_service(observer);
  service->start();

  // Something to see. It would happen in other processes.
  simba::SimbaLocker lock{observer.mutex(), *factory};
  lock.acquire();
  while (service->after_owner().owner_id() != lock.contender_id()) observer.wait_for_change();
  lock.close();
  while (service->after_owner().owner_id() == lock.contender_id()) observer.wait_for_change();

  service->stop();
  return 0;
} catch (const simba::Error& error) {
  std::cerr << "simba-example-classic-observer: " << error.what() << std::endl;
  return 1;
}
