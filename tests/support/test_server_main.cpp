// Holds a throw-away database server for tests, and ends it when whoever wanted it is gone.
//
//   simba-test-server start <product> <folder>   starts one for the calling process (ctest) and
//                                                writes <folder>/location; also redis-tls, and the
//                                                groups redis-cluster, redis-sentinel and
//                                                zookeeper-ensemble
//   simba-test-server stop <folder>              ends it
//   simba-test-server serve <process> <product> <tls> [argument ...]
//                                                for class Server: commands on standard input
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/file.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/location.hpp"
#include "support/redis/redis_servers.hpp"
#include "support/supervisor/process.hpp"
#include "support/supervisor/supervisor.hpp"
#include "support/zookeeper/zookeeper_servers.hpp"

namespace {

namespace fs = std::filesystem;
using simba::support::Caller;
using simba::support::CallerGone;
using simba::support::Supervisor;
using Words = std::vector<std::string>;

/// Leaves the family of whoever called, so that what kills that whole family spares us. Returns in
/// the new process only; the old one runs `meanwhile` and exits with its result.
template <class Function>
void detach(Function meanwhile) {
  const pid_t child = ::fork();
  if (child == -1) {
    throw std::runtime_error{"fork failed"};
  }
  if (child != 0) {
    ::_exit(meanwhile());
  }
  ::setsid();
}

int serve(const Words& words) {
  const pid_t user = std::stoi(words.at(2));
  detach([] { return EXIT_SUCCESS; });
  const int channel = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(nothing, standard);
  }
  Caller caller{channel, user};
  try {
    Supervisor supervisor{words.at(3), words.at(4), {words.begin() + 5, words.end()}, caller};
    caller.answer("ok", supervisor.log().string() + ' ' + to_string(supervisor.location()));
    for (;;) {
      const auto command = caller.read_command();
      try {
        supervisor.obey(command);
        caller.answer("ok", "");
      } catch (const CallerGone&) {
        throw;
      } catch (const std::exception& error) {
        caller.answer("error", error.what());
      }
    }
  } catch (const CallerGone&) {
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    caller.answer("error", error.what());
    return EXIT_FAILURE;
  }
}

/// A lock that the supervisor of a folder holds as long as it lives.
bool try_lock(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

bool lock_within(int descriptor, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!try_lock(descriptor)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return true;
}

int open_lock(const fs::path& folder) {
  const auto file = folder / "lock";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor == -1) {
    throw std::system_error{errno, std::generic_category(), file.string()};
  }
  return descriptor;
}

/// Whether a supervisor of this folder already works for this process.
bool serves(const fs::path& folder, pid_t user, int lock) {
  pid_t supervisor = 0;
  pid_t served = 0;
  return !try_lock(lock) && (std::ifstream{folder / "pid"} >> supervisor >> served) &&
         served == user && fs::exists(folder / "location");
}

/// What the tests of a run share.
struct Shared {
  std::shared_ptr<const void> servers;
  simba::support::Location location;
};

template <class Servers, class... Arguments>
Shared share(Arguments&&... arguments) {
  const auto servers = std::make_shared<const Servers>(std::forward<Arguments>(arguments)...);
  return {servers, servers->location()};
}

Shared share(const std::string& name, Caller& caller) {
  // The nodes of a group have supervisors of their own, which end when this process does.
  if (name == "redis-cluster") {
    return share<simba::support::RedisClusterServers>();
  }
  if (name == "redis-sentinel") {
    return share<simba::support::RedisSentinelServers>();
  }
  if (name == "zookeeper-ensemble") {
    return share<simba::support::ZooKeeperEnsemble>();
  }
  if (name == "redis-tls") {
    return share<Supervisor>("redis", "on", Words{}, caller);
  }
  return share<Supervisor>(name, "off", Words{}, caller);
}

int start(const Words& words) {
  const fs::path folder = fs::absolute(words.at(3));
  const auto log = folder / "supervisor.log";
  fs::create_directories(folder);
  const int lock = open_lock(folder);
  const pid_t user = ::getppid();
  if (serves(folder, user, lock)) {
    return EXIT_SUCCESS;  // ctest repeats tests, also this one
  }
  // One that has lost its caller a moment ago may still be busy with ending.
  if (!lock_within(lock, std::chrono::seconds{30})) {
    throw std::runtime_error{
        fmt::format("{} is in use: another ctest runs in this build folder", folder.string())};
  }
  const auto location = folder / "location";
  // Left behind by one that was killed.
  fs::remove(folder / "pid");
  fs::remove(location);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw std::system_error{errno, std::generic_category(), "pipe2"};
  }
  detach([&] {
    ::close(pipe[1]);
    char word = 0;
    if (::read(pipe[0], &word, 1) == 1) {
      return EXIT_SUCCESS;
    }
    fmt::print(stderr, "{}", simba::support::tail(log));
    return EXIT_FAILURE;
  });
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  try {
    Caller caller{-1, user};
    const auto shared = share(words.at(2), caller);
    std::ofstream{folder / "pid"} << ::getpid() << ' ' << user << '\n';
    std::ofstream{location} << to_string(shared.location) << '\n';
    static_cast<void>(!::write(pipe[1], "!", 1));
    ::close(pipe[1]);
    caller.read_command();  // none comes: returns by an exception
  } catch (const CallerGone&) {
  }
  fs::remove(location);
  return EXIT_SUCCESS;
}

int stop(const Words& words) {
  const fs::path folder = words.at(2);
  const int lock = open_lock(folder);
  if (try_lock(lock)) {
    return EXIT_SUCCESS;  // nothing runs
  }
  pid_t supervisor = 0;
  if (!(std::ifstream{folder / "pid"} >> supervisor) || ::kill(supervisor, SIGTERM) != 0 ||
      !lock_within(lock, std::chrono::seconds{60})) {
    throw std::runtime_error{fmt::format("the supervisor of {} does not end", folder.string())};
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  // The caller's descriptors are none of our business.
  ::close_range(3, ~0U, 0);
  ::signal(SIGPIPE, SIG_IGN);
  try {
    const Words words{argv, argv + argc};
    if (words.size() >= 5 && words[1] == "serve") {
      return serve(words);
    }
    if (words.size() == 4 && words[1] == "start") {
      return start(words);
    }
    if (words.size() == 3 && words[1] == "stop") {
      return stop(words);
    }
    fmt::print(stderr, "usage: simba-test-server start <product> <folder> | stop <folder>\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "simba-test-server: {}\n", error.what());
  }
  return EXIT_FAILURE;
}
