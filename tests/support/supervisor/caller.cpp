#include "support/supervisor/caller.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace simba::support {

int watch_process(pid_t process) noexcept {
  // Not pidfd_open(): the header of glibc 2.36 does not work in C++.
  return static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
}

Caller::Caller(int channel, pid_t process) : channel_{channel} {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ::sigaddset(&signals, signal);
  }
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC);
  process_ = watch_process(process);
  if (process_ == -1 && errno == ESRCH) {
    throw CallerGone{};
  }
  if (signals_ == -1 || process_ == -1) {
    throw std::system_error{errno, std::generic_category(), "signalfd or pidfd_open"};
  }
}

Caller::~Caller() {
  ::close(process_);
  ::close(signals_);
}

void Caller::look(int descriptor, int timeout, bool& ready) {
  // A channel whose end was seen must not be polled: it would be ready for ever.
  std::array<pollfd, 4> waits{pollfd{process_, POLLIN, 0}, pollfd{signals_, POLLIN, 0},
                              pollfd{ended_ ? -1 : channel_, POLLIN, 0},
                              pollfd{descriptor, POLLIN, 0}};
  if (::poll(waits.data(), waits.size(), timeout) == -1 && errno != EINTR) {
    throw std::system_error{errno, std::generic_category(), "poll"};
  }
  if (waits[0].revents != 0 || waits[1].revents != 0) {
    throw CallerGone{};
  }
  if (waits[2].revents != 0) {
    std::array<char, 256> buffer{};
    const auto count = ::recv(channel_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) {
      pending_.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      ended_ = true;
      throw CallerGone{};
    }
  }
  ready = waits[3].revents != 0;
}

bool Caller::wait(int descriptor, std::chrono::milliseconds span) {
  const auto end = std::chrono::steady_clock::now() + span;
  for (bool ready = false;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    look(descriptor, static_cast<int>(std::max<long>(left.count(), 0)), ready);
    if (ready || std::chrono::steady_clock::now() >= end) {
      return ready;
    }
  }
}

std::string Caller::read_command() {
  for (bool ignored = false;;) {
    if (const auto end = pending_.find('\n'); end != std::string::npos) {
      const auto line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    look(-1, -1, ignored);
  }
}

void Caller::answer(std::string_view verdict, std::string_view text) {
  auto line = fmt::format("{} {}", verdict, text);
  std::replace(line.begin(), line.end(), '\n', '|');
  line += '\n';
  static_cast<void>(::send(channel_, line.data(), line.size(), MSG_NOSIGNAL));
}

}  // namespace simba::support
