// Leader election with lambdas: simba::Election. Two candidates run here; start the program in
// several terminals and there are more, of whom one leads.
//
//   simba-example-leader [URL of a store]

#include <iostream>
#include <semaphore>
#include <string>
#include <syncstream>

#include "simba/core/contender_id_generator.hpp"
#include "simba/simba.hpp"
#include "store_url.hpp"

/// A candidate, and how to wait until it leads. It would be a process of its own.
class Candidate {
 public:
  explicit Candidate(const simba::Client& client)
      : election_{client.elect(
            "example-leader",
            {// The two functions take turns, one at a time, on a thread of the client. They may
             // take long: the lease is renewed meanwhile.
             .on_elected =
                 [this](const simba::Leadership& me) {
                   std::osyncstream{std::cout} << id_ << " leads, with fencing token "
                                               << me.fencing_token() << std::endl;
                   leads_.release();
                 },
             // At every end, also at a stop: then the mutex is still ours while this runs.
             .on_deposed =
                 [this](simba::Loss) {
                   std::osyncstream{std::cout} << id_ << " leads no longer" << std::endl;
                 },
             .id = id_})} {}

  void wait_until_it_leads() { leads_.acquire(); }
  void stop() { election_.stop(); }

 private:
  const std::string id_ = simba::ContenderIdGenerator::unique().generate();
  std::counting_semaphore<> leads_{0};
  simba::Election election_;  // the last member: it is stopped before the others are gone
};

int main(int argc, char** argv) try {
  const simba::Client client{store_url(argc, argv)};
  Candidate first{client};
  first.wait_until_it_leads();
  Candidate second{client};

  // A leader that stops hands over at once. After a crash that happens when the lease is over.
  first.stop();
  second.wait_until_it_leads();
  second.stop();
  return 0;
} catch (const simba::Error& error) {
  std::cerr << "simba-example-leader: " << error.what() << std::endl;
  return 1;
}
