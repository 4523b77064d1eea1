#include "testkit/contract/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "testkit/contract/child.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace simba::testkit::detail {

namespace {

void check(int error, const char* what) {
  if (error != 0) {
    throw std::system_error{error, std::generic_category(), what};
  }
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    check(pipe2(ends.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe2");
    read = ends[0];
    write = ends[1];
  }
  int read = -1;
  int write = -1;
};

std::vector<std::string> common_arguments(const Contract& contract, const char* role,
                                          const std::string& mutex,
                                          const ContentionOptions& lease) {
  return {contract.program(),
          std::string{child_option},
          role,
          std::to_string(getpid()),
          contract.location(),
          mutex,
          std::to_string(lease.ttl.count()),
          std::to_string(lease.transition.count()),
          std::to_string(lease.jitter.low.count()),
          std::to_string(lease.jitter.high.count()),
          std::to_string(contract.patience().count())};
}

}  // namespace

Child Child::holder(const Contract& contract, const std::string& mutex,
                    const ContentionOptions& lease) {
  return Child{contract, common_arguments(contract, "holder", mutex, lease)};
}

Child Child::worker(const Contract& contract, const std::string& mutex,
                    const ContentionOptions& lease, int rounds, const std::string& folder) {
  auto arguments = common_arguments(contract, "worker", mutex, lease);
  arguments.push_back(std::to_string(rounds));
  arguments.push_back(folder);
  return Child{contract, std::move(arguments)};
}

Child::Child(const Contract& contract, std::vector<std::string> arguments) : contract_{contract} {
  const Pipe in;
  const Pipe out;
  to_child_ = in.write;
  from_child_ = out.read;
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  const int error = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in.read);
  close(out.write);
  if (error != 0) {
    close(to_child_);
    close(from_child_);
  }
  check(error, "posix_spawn");
}

Child::Child(Child&& other) noexcept
    : contract_{other.contract_},
      pid_{std::exchange(other.pid_, -1)},
      to_child_{std::exchange(other.to_child_, -1)},
      from_child_{std::exchange(other.from_child_, -1)},
      unread_{std::move(other.unread_)} {}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (to_child_ >= 0) {
    close(to_child_);
    close(from_child_);
  }
}

std::string Child::line() {
  const LocalTime deadline = contract_.now() + contract_.patience();
  std::array<char, 256> buffer{};
  while (true) {
    const auto end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - contract_.now());
    pollfd readable{.fd = from_child_, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&readable, 1, static_cast<int>(left.count())) == 0) {
      return {};
    }
    const ssize_t size = read(from_child_, buffer.data(), buffer.size());
    if (size == 0 || (size < 0 && errno != EINTR)) {
      return {};
    }
    unread_.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
}

void Child::say(const std::string& line) const {
  const std::string text = line + "\n";
  check(write(to_child_, text.data(), text.size()) < 0 ? errno : 0, "write to the child");
}

void Child::send(int signal) const {
  check(pid_ > 0 ? 0 : ESRCH, "the child has ended");  // kill(-1) would reach every process
  check(kill(pid_, signal) == 0 ? 0 : errno, "kill");
}

std::optional<int> Child::wait(std::chrono::nanoseconds span) {
  int status = 0;
  if (!contract_.within(span, [&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) {
    return std::nullopt;
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace simba::testkit::detail
