#include "testkit/contract/child.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

#include "simba/core/clock.hpp"
#include "simba/locker/simba_locker.hpp"

namespace simba::testkit::detail {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The arguments, as `common_arguments` of the parent writes them.
struct Order {
  explicit Order(std::span<char*> arguments) {
    std::size_t next = 0;
    const auto word = [&] { return std::string{arguments[next++]}; };
    const auto number = [&] { return std::stoll(word()); };
    role = word();
    parent = static_cast<pid_t>(number());
    location = word();
    mutex = word();
    lease.ttl = milliseconds{number()};
    lease.transition = milliseconds{number()};
    lease.jitter.low = milliseconds{number()};
    lease.jitter.high = milliseconds{number()};
    patience = nanoseconds{number()};
    if (next < arguments.size()) {
      rounds = static_cast<int>(number());
      folder = word();
    }
  }

  std::string role;
  pid_t parent = 0;
  std::string location;
  std::string mutex;
  ContentionOptions lease;
  nanoseconds patience{0};
  int rounds = 0;
  std::string folder;
};

void hold(SimbaLocker& locker, const Order& order) {
  locker.acquire(order.patience);
  std::cout << acquired_word << locker.fencing_token() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == is_held_question) {
      std::cout << (locker.is_held() ? yes_word : no_word) << std::endl;
    } else if (line == close_request) {
      locker.close();
      std::cout << closed_word << std::endl;
    }
  }
}

/// Reads "count token", checks that the token has grown, and writes both back.
void add_one(const std::string& path, FencingToken token) {
  long long count = 0;
  FencingToken last = 0;
  std::ifstream{path} >> count >> last;
  if (last >= token) {
    throw std::runtime_error{"token " + std::to_string(token) + " comes after " +
                             std::to_string(last)};
  }
  std::ofstream file{path, std::ios::trunc};
  file << count + 1 << ' ' << token << std::flush;
  if (!file) {
    throw std::runtime_error{"cannot write " + path};
  }
}

void append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const ssize_t written = write(file, line.data(), line.size());
  close(file);
  if (written != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error{"cannot write " + path};
  }
}

void work(SimbaLocker& locker, const Order& order) {
  const auto clock = make_system_clock();  // one clock for all processes of the machine
  for (int round = 0; round < order.rounds; ++round) {
    locker.acquire(4 * order.patience);  // it may be one of the last to be served
    const LocalTime entered = clock->now();
    add_one(order.folder + "/count", locker.fencing_token());
    const LocalTime last_owned = clock->now();
    if (!locker.is_held()) {
      throw std::runtime_error{"lost the lock while it worked"};
    }
    append(order.folder + "/visits", std::to_string(locker.fencing_token()) + ' ' +
                                         std::to_string(entered.time_since_epoch().count()) + ' ' +
                                         std::to_string(last_owned.time_since_epoch().count()) +
                                         '\n');
    locker.close();
  }
}

int obey(const Order& order, const StoreUnderTest& store) {
  const auto factory = store.make_factory(order.location, order.lease);
  SimbaLocker locker{order.mutex, *factory};
  if (order.role == "holder") {
    hold(locker, order);
  } else {
    work(locker, order);
  }
  return EXIT_SUCCESS;
}

}  // namespace

std::optional<int> run_as_child(int argc, char** argv, const StoreUnderTest& store) {
  const std::span arguments{argv, static_cast<std::size_t>(argc)};
  if (arguments.size() < 2 || arguments[1] != child_option) {
    return std::nullopt;
  }
  try {
    const Order order{arguments.subspan(2)};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != order.parent) {
      return EXIT_FAILURE;  // the parent was gone before we asked to die with it
    }
    return obey(order, store);
  } catch (const std::exception& error) {
    std::cerr << "contract child " << getpid() << ": " << error.what() << std::endl;
    return EXIT_FAILURE;
  }
}

}  // namespace simba::testkit::detail
