#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "simba/locker/simba_locker.hpp"
#include "simba/redis/redis_factory.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "support/ownership/ownership_ledger.hpp"
#include "support/patience.hpp"

namespace simba::redis::test {

/// A switch that this process and those that it forks share.
class SharedSwitch {
 public:
  SharedSwitch() {
    void* const memory = ::mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error{"mmap"};
    on_ = new (memory) std::atomic<bool>{false};
  }
  SharedSwitch(const SharedSwitch&) = delete;
  SharedSwitch& operator=(const SharedSwitch&) = delete;
  ~SharedSwitch() { ::munmap(on_, sizeof(std::atomic<bool>)); }

  void turn(bool on) noexcept { on_->store(on); }
  bool is_on() const noexcept { return on_->load(); }

 private:
  std::atomic<bool>* on_;
};

/// A process of its own with some contenders on one factory, which take turns as LockHolder does.
/// The ledger of this process says what they held and when.
///
/// Made before this process has threads. Lifetime: the switch and the ledger outlive it. The
/// destructor kills the process.
class ContenderProcess {
 public:
  struct Settings {
    std::string name;  ///< contenders are called "<name> 0", "<name> 1", ...
    std::string mutex;
    std::size_t contenders = 2;
    std::chrono::milliseconds hold{20};
    std::chrono::milliseconds long_hold{20};  ///< of each second one, unless it is to hurry
  };

  ContenderProcess(const RedisOptions& options, const Settings& settings, const SharedSwitch& hurry,
                   support::OwnershipLedger& ledger) {
    int ends[2] = {};
    if (::pipe(ends) != 0) throw std::runtime_error{"pipe"};
    pid_ = ::fork();
    if (pid_ == -1) throw std::runtime_error{"fork"};
    if (pid_ == 0) {
      ::close(ends[0]);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(options, settings, hurry, ends[1]);
    }
    ::close(ends[1]);
    reader_ = std::jthread{[from = ends[0], &ledger, name = settings.name] {
      read_all(from, ledger, name);
      ::close(from);
    }};
  }
  ContenderProcess(const ContenderProcess&) = delete;
  ContenderProcess& operator=(const ContenderProcess&) = delete;
  ~ContenderProcess() { kill(); }

  void signal(int number) const { ::kill(pid_, number); }

  /// What was held until now is in the ledger when it returns.
  void kill() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    reader_.join();
  }

 private:
  /// One moment at which a contender held the mutex.
  struct Sight {
    std::uint64_t contender = 0;
    std::uint64_t number = 0;  ///< of the ownership
    FencingToken token = 0;
    LocalTime at{};
  };

  static void read_all(int from, support::OwnershipLedger& ledger, const std::string& name) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> known;
    Sight sight;
    while (::read(from, &sight, sizeof sight) == sizeof sight) {
      const auto key = std::pair{sight.contender, sight.number};
      if (const auto found = known.find(key); found != known.end()) {
        ledger.extend(found->second, sight.at);
      } else {
        const auto owner = fmt::format("{} {}", name, sight.contender);
        known.emplace(key, ledger.begin(owner, sight.token, sight.at));
      }
    }
  }

  [[noreturn]] static void run(RedisOptions options, const Settings& settings,
                               const SharedSwitch& hurry, int to) {
    try {
      options.runtime = make_runtime({.log = std::make_shared<testkit::CapturingLogger>()});
      const auto factory = make_redis_factory(options);
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < settings.contenders; ++i) {
        threads.emplace_back([&, i] { contend(*factory, settings, hurry, i, to); });
      }
      threads.clear();
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", settings.name, error.what());
    }
    std::_Exit(1);
  }

  static void contend(MutexServiceFactory& factory, const Settings& settings,
                      const SharedSwitch& hurry, std::size_t contender, int to) {
    SimbaLocker locker{settings.mutex, factory};
    const auto hold = [&] {
      return contender % 2 == 1 && !hurry.is_on() ? settings.long_hold : settings.hold;
    };
    for (std::uint64_t number = 0;; ++number) {
      locker.acquire();
      const auto acquired = support::now();
      while (support::now() < acquired + hold()) {
        const Sight sight{contender, number, locker.fencing_token(), support::now()};
        if (!locker.is_held()) break;
        if (::write(to, &sight, sizeof sight) != sizeof sight) std::_Exit(1);
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      }
      locker.close();
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
  }

  pid_t pid_ = -1;
  std::jthread reader_;
};

}  // namespace simba::redis::test
