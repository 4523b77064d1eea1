#include "cli/signals.hpp"

#include <cerrno>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>

namespace simba::cli {
namespace {

bool is_ignored(int signal) noexcept {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Signals::Signals() {
  sigset_t read;
  sigemptyset(&read);
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT}) {
    if (!is_ignored(signal)) sigaddset(&read, signal);
  }
  sigset_t blocked = read;
  sigaddset(&blocked, SIGTTOU);  // so that we may take the terminal back
  const int error = ::pthread_sigmask(SIG_BLOCK, &blocked, &original_);
  if (error != 0) throw std::system_error{error, std::generic_category(), "pthread_sigmask"};
  file_ = ::signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file_ < 0) throw std::system_error{errno, std::generic_category(), "signalfd"};
}

Signals::~Signals() { ::close(file_); }

int Signals::next() const noexcept {
  signalfd_siginfo signal{};
  if (::read(file_, &signal, sizeof signal) != sizeof signal) return 0;
  return static_cast<int>(signal.ssi_signo);
}

}  // namespace simba::cli
