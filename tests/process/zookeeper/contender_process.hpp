#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "process/zookeeper/contenders.hpp"
#include "simba/locker/simba_locker.hpp"
#include "support/ownership/ownership_ledger.hpp"

namespace simba::zookeeper::test {

/// A process of its own with one contender, which acquires a mutex, holds it, gives it back and
/// rests, again and again, as LockHolder does. The ledger of this process says what it held and
/// when.
///
/// Made before this process has threads; it does nothing before `begin`. The destructor kills it.
class ContenderProcess {
 public:
  ContenderProcess(std::string name, const std::string& mutex, std::chrono::milliseconds hold)
      : name_{std::move(name)} {
    int orders[2] = {};
    int sights[2] = {};
    if (::pipe(orders) != 0 || ::pipe(sights) != 0) throw std::runtime_error{"pipe"};
    pid_ = ::fork();
    if (pid_ == -1) throw std::runtime_error{"fork"};
    if (pid_ == 0) {
      ::close(orders[1]);
      ::close(sights[0]);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(mutex, hold, orders[0], sights[1]);
    }
    ::close(orders[0]);
    ::close(sights[1]);
    orders_ = orders[1];
    sights_ = sights[0];
  }
  ContenderProcess(const ContenderProcess&) = delete;
  ContenderProcess& operator=(const ContenderProcess&) = delete;
  ~ContenderProcess() {
    kill();
    ::close(orders_);
    ::close(sights_);
  }

  const std::string& name() const noexcept { return name_; }

  /// Makes it contend at a server on this port of 127.0.0.1. The ledger outlives it. Once.
  void begin(std::uint16_t port, support::OwnershipLedger& ledger) {
    if (::write(orders_, &port, sizeof port) != sizeof port) throw std::runtime_error{"write"};
    reader_ = std::jthread{[this, &ledger] { read_all(ledger); }};
  }

  void signal(int number) const { ::kill(pid_, number); }

  /// What was held until now is in the ledger when it returns.
  void kill() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    if (reader_.joinable()) reader_.join();
  }

 private:
  /// One moment at which the mutex was held.
  struct Sight {
    std::uint64_t number = 0;  ///< of the ownership
    FencingToken token = 0;
    LocalTime at{};
  };

  void read_all(support::OwnershipLedger& ledger) const {
    std::map<std::uint64_t, std::size_t> known;
    Sight sight;
    while (::read(sights_, &sight, sizeof sight) == sizeof sight) {
      if (const auto found = known.find(sight.number); found != known.end()) {
        ledger.extend(found->second, sight.at);
      } else {
        known.emplace(sight.number, ledger.begin(name_, sight.token, sight.at));
      }
    }
  }

  [[noreturn]] static void run(const std::string& mutex, std::chrono::milliseconds hold, int from,
                               int to) {
    try {
      std::uint16_t port = 0;
      if (::read(from, &port, sizeof port) != sizeof port) std::_Exit(0);
      auto options = options_of(port);
      options.runtime = make_runtime({.log = std::make_shared<testkit::CapturingLogger>()});
      const auto factory = make_zookeeper_factory(options);
      SimbaLocker locker{mutex, *factory};
      for (std::uint64_t number = 0;; ++number) {
        locker.acquire();
        const auto acquired = support::now();
        while (support::now() < acquired + hold) {
          // The moment first, the question second: held then, so held at that moment too.
          const Sight sight{number, locker.fencing_token(), support::now()};
          if (!locker.is_held()) break;
          if (::write(to, &sight, sizeof sight) != sizeof sight) std::_Exit(1);
          std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        locker.close();
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
      }
    } catch (const std::exception& error) {
      fmt::print(stderr, "a contender's process has ended: {}\n", error.what());
    }
    std::_Exit(1);
  }

  const std::string name_;
  pid_t pid_ = -1;
  int orders_ = -1;
  int sights_ = -1;
  std::jthread reader_;
};

}  // namespace simba::zookeeper::test
