#include "support/jvm_contender.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "support/patience.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace simba::support {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds long_limit{30'000};

}  // namespace

JvmContender::JvmContender(const Location& location, const std::string& mutex,
                           std::string contender_id)
    : JvmContender{location, mutex, std::move(contender_id), Settings{}} {}

JvmContender::JvmContender(const Location& location, const std::string& mutex,
                           std::string contender_id, const Settings& settings)
    : contender_id_{std::move(contender_id)} {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error{errno, std::generic_category(), "socketpair"};
  }
  channel_ = ends[0];
  // Debian's Python, which alone has Debian's module for Redis. Not the location's user, whose
  // rights are for Simba's own commands.
  std::vector<std::string> words{"/usr/bin/python3",
                                 "-I",
                                 SIMBA_TEST_JVM_CONTENDER,
                                 location.host,
                                 std::to_string(location.port),
                                 "admin",
                                 location.password,
                                 mutex,
                                 contender_id_,
                                 std::to_string(settings.ttl.count()),
                                 std::to_string(settings.transition.count())};
  std::vector<char*> argv;
  for (auto& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = ::posix_spawn(&process_, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(channel_);
    throw std::system_error{error, std::generic_category(), argv[0]};
  }
  if (said("ready").empty()) {
    const auto text = transcript();
    kill();
    ::close(channel_);
    throw std::runtime_error{fmt::format(
        "the JVM stand-in does not start (it needs python3-redis); it has said:\n{}", text)};
  }
}

JvmContender::~JvmContender() {
  kill();
  ::close(channel_);
}

void JvmContender::order(std::string_view text) {
  const auto line = fmt::format("{}\n", text);
  if (::send(channel_, line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    throw std::runtime_error{
        fmt::format("the JVM stand-in is gone; it has said:\n{}", transcript())};
  }
}

bool JvmContender::read(std::chrono::milliseconds span) {
  pollfd wait{channel_, POLLIN, 0};
  if (ended_ || ::poll(&wait, 1, static_cast<int>(std::max<long>(span.count(), 0))) != 1) {
    return false;
  }
  std::array<char, 1'000> buffer{};
  const auto count = ::recv(channel_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count <= 0) {
    ended_ = count == 0 || (errno != EAGAIN && errno != EINTR);
    return false;
  }
  pending_.append(buffer.data(), static_cast<std::size_t>(count));
  for (auto end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
    lines_.push_back(pending_.substr(0, end));
    pending_.erase(0, end + 1);
  }
  return true;
}

std::string JvmContender::said(std::string_view beginning, std::chrono::milliseconds limit) {
  const auto deadline = now() + scaled(limit);
  for (std::size_t next = passed_;;) {
    for (; next < lines_.size(); ++next) {
      if (lines_[next].starts_with(beginning)) {
        passed_ = next + 1;
        return lines_[next];
      }
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now());
    if (!read(left) && (ended_ || left <= 0ms)) {
      return {};
    }
  }
}

std::string JvmContender::said(std::string_view beginning) { return said(beginning, long_limit); }

std::string JvmContender::transcript() {
  while (read(0ms)) {
  }
  return fmt::format("{}\n", fmt::join(lines_, "\n"));
}

void JvmContender::kill() {
  if (process_ != -1) {
    ::kill(process_, SIGKILL);
    reap();
  }
}

int JvmContender::quit() {
  if (process_ != -1) {
    // It may have ended by itself, which the exit code tells.
    static_cast<void>(::send(channel_, "quit\n", 5, MSG_NOSIGNAL));
    const auto deadline = now() + scaled(long_limit);
    while (!ended_ && now() < deadline) {
      read(100ms);
    }
    if (!ended_) {
      ::kill(process_, SIGKILL);
    }
    reap();
  }
  return exit_code_;
}

void JvmContender::reap() {
  int status = 0;
  while (::waitpid(process_, &status, 0) == -1 && errno == EINTR) {
  }
  process_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

LocalTime moment_of(std::string_view line) {
  const auto digits = line.substr(line.rfind(' ') + 1);
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    throw std::invalid_argument{fmt::format("no moment in '{}'", line)};
  }
  return LocalTime{std::chrono::nanoseconds{count}};
}

}  // namespace simba::support
