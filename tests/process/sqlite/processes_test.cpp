// What the kernel knows of the processes that share an SQLite database.
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "simba/locker/simba_locker.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "support/ownership/grows.hpp"
#include "support/patience.hpp"
#include "support/temporary_folder.hpp"

namespace simba::sqlite {
namespace {

using namespace std::chrono_literals;

/// A process of its own that runs `body` and ends with it, or is killed. Made before this process
/// has threads.
class Child {
 public:
  /// `body` gets a function that sends a number to the parent.
  explicit Child(const std::function<void(const std::function<void(std::uint64_t)>&)>& body) {
    int ends[2] = {};
    if (pipe(ends) != 0) throw std::runtime_error{"pipe"};
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      body([&](std::uint64_t number) {
        if (write(ends[1], &number, sizeof number) != sizeof number) _exit(2);
      });
      _exit(0);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  ~Child() {
    kill();
    close(from_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next number; zero when the child has closed its end.
  std::uint64_t receive() const {
    std::uint64_t number = 0;
    return read(from_, &number, sizeof number) == sizeof number ? number : 0;
  }

  void signal(int number) const { ::kill(pid_, number); }

  void kill() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
};

struct SqliteProcesses : testing::Test {
  std::unique_ptr<MutexServiceFactory> make_factory(
      ChildProcesses children = ChildProcesses::ignore) {
    SqliteOptions options;
    options.path = path;
    options.child_processes = children;
    options.sql.contention.ttl = 10min;  // so that no lease ends by itself
    options.sql.poll_interval = 10min;   // so that it is not looking that notices a change
    return make_sqlite_factory(options);
  }

  /// Owns mutex "m" until it is killed; sends its fencing token.
  auto owner() {
    return [this](const std::function<void(std::uint64_t)>& send) {
      const auto factory = make_factory();
      SimbaLocker locker{"m", *factory, "owner"};
      locker.acquire(support::scaled(30s));
      send(locker.fencing_token());
      pause();
    };
  }

  std::string owner_of_m() {
    return make_sqlite_repository({.path = path})->ensure_owner("m").owner_id();
  }

  const support::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "simba.db";
};

TEST_F(SqliteProcesses, AWaiterTakesOverFromAKilledOwnerLongBeforeTheLeaseEnds) {
  Child child{owner()};
  const std::uint64_t token = child.receive();
  ASSERT_NE(token, 0U);
  const auto factory = make_factory();
  SimbaLocker waiter{"m", *factory};
  ASSERT_FALSE(waiter.try_acquire());
  auto acquired = std::async(std::launch::async, [&] { waiter.acquire(support::scaled(30s)); });
  child.kill();
  acquired.get();
  EXPECT_TRUE(support::grows(token, waiter.fencing_token()));
}

TEST_F(SqliteProcesses, ManyProcessesMayOpenAFreshDatabaseAtTheSameMoment) {
  constexpr int processes = 8;
  for (int round = 0; round < 10; ++round) {
    const auto fresh = folder.path() / ("fresh" + std::to_string(round));
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < processes; ++i) {
      children.push_back(std::make_unique<Child>([&](const auto& send) {
        const auto repository = make_sqlite_repository({.path = fresh});
        repository->ensure_owner("m");
        send(1);
      }));
    }
    for (const auto& child : children) EXPECT_EQ(child->receive(), 1U);
  }
}

TEST_F(SqliteProcesses, AReleaseReachesAWaiterInAnotherProcessWithoutLooking) {
  Child waiter{[this](const std::function<void(std::uint64_t)>& send) {
    const auto factory = make_factory();
    SimbaLocker locker{"m", *factory, "waiter"};
    while (owner_of_m() != "owner") std::this_thread::yield();
    send(1);
    locker.acquire(support::scaled(30s));
    send(locker.fencing_token());
    pause();
  }};
  const auto factory = make_factory();
  SimbaLocker owner{"m", *factory, "owner"};
  owner.acquire(support::scaled(30s));
  ASSERT_EQ(waiter.receive(), 1U);
  const std::uint64_t token = owner.fencing_token();
  owner.close();
  EXPECT_TRUE(support::grows(token, waiter.receive()));
}

TEST_F(SqliteProcesses, OneThatComesLaterTakesOverFromAKilledOwnerAtOnce) {
  Child child{owner()};
  ASSERT_NE(child.receive(), 0U);
  child.kill();
  const auto factory = make_factory();
  SimbaLocker locker{"m", *factory};
  EXPECT_TRUE(locker.try_acquire());
}

TEST_F(SqliteProcesses, APausedOwnerKeepsItsLease) {
  Child child{owner()};
  ASSERT_NE(child.receive(), 0U);
  child.signal(SIGSTOP);
  const auto factory = make_factory();
  SimbaLocker locker{"m", *factory};
  EXPECT_FALSE(locker.try_acquire());
  EXPECT_EQ(owner_of_m(), "owner");
}

TEST_F(SqliteProcesses, ProgramsThatAnOwnerStartedDoNotCountUnlessItIsWanted) {
  for (const ChildProcesses children : {ChildProcesses::ignore, ChildProcesses::keep_lock}) {
    Child child{[&](const std::function<void(std::uint64_t)>& send) {
      const auto factory = make_factory(children);
      SimbaLocker locker{"m", *factory, "owner"};
      locker.acquire(support::scaled(30s));
      const pid_t program = fork();
      if (program == 0) {
        execlp("sleep", "sleep", "600", nullptr);
        _exit(127);
      }
      // The program runs once its command line says so.
      const std::string command = "/proc/" + std::to_string(program) + "/comm";
      support::eventually([&] {
        std::string name;
        if (FILE* file = fopen(command.c_str(), "r")) {
          char buffer[16] = {};
          if (fgets(buffer, sizeof buffer, file) != nullptr) name = buffer;
          fclose(file);
        }
        return name == "sleep\n";
      });
      send(static_cast<std::uint64_t>(program));
      pause();
    }};
    const auto program = static_cast<pid_t>(child.receive());
    ASSERT_GT(program, 0);
    child.kill();
    const bool counts = children == ChildProcesses::keep_lock;
    EXPECT_EQ(owner_of_m(), counts ? "owner" : "");
    const auto factory = make_factory();
    SimbaLocker waiter{"m", *factory};
    EXPECT_EQ(waiter.try_acquire(), !counts);
    auto acquired = std::async(std::launch::async, [&] {
      if (counts) waiter.acquire(support::scaled(30s));
    });
    ::kill(program, SIGKILL);
    EXPECT_NO_THROW(acquired.get()) << "the end of the program is noticed without looking";
  }
}

TEST_F(SqliteProcesses, AWriterKilledAtAnyMomentLeavesASoundDatabaseAndGrowingTokens) {
  std::uint64_t last = 0;
  for (int round = 0; round < 20; ++round) {
    Child child{[&](const std::function<void(std::uint64_t)>& send) {
      const auto factory = make_factory();
      for (;;) {
        SimbaLocker locker{"m", *factory};
        locker.acquire(support::scaled(30s));
        send(locker.fencing_token());
        locker.close();
      }
    }};
    for (int i = 0; i <= round; ++i) {
      const std::uint64_t token = child.receive();
      EXPECT_TRUE(support::grows(last, token));
      last = token;
    }
    child.kill();  // wherever it is by now
    while (const std::uint64_t token = child.receive()) {
      EXPECT_TRUE(support::grows(last, token));
      last = token;
    }
    const auto factory = make_factory();
    SimbaLocker locker{"m", *factory};
    locker.acquire(support::scaled(30s));
    EXPECT_TRUE(support::grows(last, locker.fencing_token()));
    last = locker.fencing_token();
  }
}

}  // namespace
}  // namespace simba::sqlite
