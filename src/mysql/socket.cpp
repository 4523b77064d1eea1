#include "mysql/socket.hpp"

#include <ctime>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace simba::mysql {
namespace {

sigset_t pipe_signal() noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGPIPE);
  return set;
}

bool pending() noexcept {
  sigset_t set;
  return ::sigpending(&set) == 0 && ::sigismember(&set, SIGPIPE) == 1;
}

}  // namespace

void close_on_exec(int descriptor) noexcept { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

void limit_blocking(int descriptor, std::chrono::milliseconds limit) noexcept {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(limit);
  const timeval value{.tv_sec = seconds.count(),
                      .tv_usec = std::chrono::microseconds{limit - seconds}.count()};
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

void never_block(int descriptor) noexcept {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0) ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

void cut(int descriptor) noexcept {
  ::shutdown(descriptor, SHUT_RDWR);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup3(nowhere, descriptor, O_CLOEXEC);
  ::close(nowhere);
}

NoPipeSignal::NoPipeSignal(bool needed) noexcept {
  if (!needed || pending()) return;  // one that pends already is not ours to take
  const sigset_t signal = pipe_signal();
  blocked_ = ::pthread_sigmask(SIG_BLOCK, &signal, &before_) == 0;
}

NoPipeSignal::~NoPipeSignal() {
  if (!blocked_) return;
  const sigset_t signal = pipe_signal();
  const timespec no_time{};
  if (pending()) ::sigtimedwait(&signal, nullptr, &no_time);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace simba::mysql
