// Finding the leader without wanting to lead: simba::Watch and an id that carries an endpoint. E.g.
// to route requests to the leader.
//
//   simba-example-observer [URL of a store]

#include <iostream>
#include <semaphore>
#include <string>
#include <syncstream>

#include "simba/simba.hpp"
#include "store_url.hpp"

int main(int argc, char** argv) try {
  const simba::Client client{store_url(argc, argv)};
  std::counting_semaphore<> changes{0};

  // Called at each change of the owner, not at renewals. An owner of a very short time may be
  // missed; the last one never is.
  simba::Watch watch = client.watch("example-observed", [&](const simba::MutexOwner& now) {
    std::osyncstream out{std::cout};
    if (const auto where = simba::endpoint(now)) {
      out << "leader at " << *where << ", fencing token " << now.fencing_token();
    } else {
      out << "no leader that can be reached";
    }
    out << std::endl;
    changes.release();
  });

  // Something to see. It would happen in other processes.
  simba::Election leader =
      client.elect("example-observed", {.id = simba::id_with_endpoint("10.0.0.7:8080")});
  while (watch.owner().owner_id() != leader.id()) changes.acquire();
  leader.stop();
  while (watch.owner().owner_id() == leader.id()) changes.acquire();

  watch.stop();
  return 0;
} catch (const simba::Error& error) {
  std::cerr << "simba-example-observer: " << error.what() << std::endl;
  return 1;
}
