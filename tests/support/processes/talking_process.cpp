#include "support/processes/talking_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/patience.hpp"
#include "support/processes/child_process.hpp"

namespace simba::support {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds talk_limit{30'000};

}  // namespace

TalkingProcess::TalkingProcess(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error{errno, std::generic_category(), "socketpair"};
  }
  channel_ = ends[0];
  auto environment = environment_with({{"LC_ALL", "C.UTF-8"}});
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = ::posix_spawn(&process_, words.at(0).c_str(), &actions, nullptr,
                                  pointers_to(words).data(), pointers_to(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(channel_);
    throw std::system_error{error, std::generic_category(), words.at(0)};
  }
}

TalkingProcess::~TalkingProcess() {
  kill();
  ::close(channel_);
}

void TalkingProcess::order(std::string_view text) {
  const auto line = fmt::format("{}\n", text);
  if (::send(channel_, line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    throw std::runtime_error{fmt::format("the process is gone; it has said:\n{}", transcript())};
  }
}

bool TalkingProcess::read(std::chrono::milliseconds span) {
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

std::optional<std::size_t> TalkingProcess::find(std::string_view beginning, std::size_t first,
                                                std::chrono::milliseconds limit) {
  const auto deadline = now() + scaled(limit);
  for (std::size_t next = first;;) {
    for (; next < lines_.size(); ++next) {
      if (lines_[next].starts_with(beginning)) {
        return next;
      }
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now());
    if (!read(left) && (ended_ || left <= 0ms)) {
      return std::nullopt;
    }
  }
}

std::string TalkingProcess::said(std::string_view beginning, std::chrono::milliseconds limit) {
  const auto found = find(beginning, passed_, limit);
  if (!found) {
    return {};
  }
  passed_ = *found + 1;
  return lines_[*found];
}

std::string TalkingProcess::said(std::string_view beginning) { return said(beginning, talk_limit); }

std::string TalkingProcess::ask(std::string_view question, std::string_view beginning) {
  const auto before = lines().size();
  order(question);
  const auto found = find(beginning, before, talk_limit);
  if (!found) {
    throw std::runtime_error{
        fmt::format("no answer to {}; the process has said:\n{}", question, transcript())};
  }
  return lines_[*found];
}

const std::vector<std::string>& TalkingProcess::lines() {
  while (read(0ms)) {
  }
  return lines_;
}

std::string TalkingProcess::transcript() { return fmt::format("{}\n", fmt::join(lines(), "\n")); }

void TalkingProcess::kill() {
  if (process_ != -1) {
    ::kill(process_, SIGKILL);
    reap();
  }
}

void TalkingProcess::pause() { ::kill(process_, SIGSTOP); }

void TalkingProcess::resume() { ::kill(process_, SIGCONT); }

int TalkingProcess::quit() {
  if (process_ != -1) {
    // It may have ended by itself, which the exit code tells.
    static_cast<void>(::send(channel_, "quit\n", 5, MSG_NOSIGNAL));
    const auto deadline = now() + scaled(talk_limit);
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

void TalkingProcess::reap() {
  int status = 0;
  while (::waitpid(process_, &status, 0) == -1 && errno == EINTR) {
  }
  process_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace simba::support
