#include "cli/child/signals.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "core/text.hpp"

namespace simba::cli {
namespace {

bool is_ignored(int signal) noexcept {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool has_terminal() noexcept {
  const int file = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (file >= 0) ::close(file);
  return file >= 0;
}

}  // namespace

Signals::Signals(Orphans orphans) {
  sigset_t read;
  sigemptyset(&read);
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT}) {
    if (!is_ignored(signal)) sigaddset(&read, signal);
  }
  if (orphans == Orphans::reaped && !is_ignored(SIGCHLD)) sigaddset(&read, SIGCHLD);
  if (const char* manager = std::getenv("MANAGERPID")) {  // NOLINT(concurrency-mt-unsafe)
    manager_ = detail::parse_number<pid_t>(manager).value_or(manager_);
  }
  sigset_t blocked = read;
  sigaddset(&blocked, SIGTTOU);  // so that we may take the terminal back
  const int error = ::pthread_sigmask(SIG_BLOCK, &blocked, &original_);
  if (error != 0) throw std::system_error{error, std::generic_category(), "pthread_sigmask"};
  file_ = ::signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file_ < 0) throw std::system_error{errno, std::generic_category(), "signalfd"};
}

Signals::~Signals() { ::close(file_); }

int Signals::next() noexcept {
  signalfd_siginfo signal{};
  while (::read(file_, &signal, sizeof signal) == sizeof signal) {
    const int number = static_cast<int>(signal.ssi_signo);
    if (number == SIGCHLD) {
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      continue;
    }
    if (number == SIGTSTP && !has_terminal()) continue;
    const auto sender = static_cast<pid_t>(signal.ssi_pid);
    from_manager_ = signal.ssi_code == SI_USER && (sender == 1 || sender == manager_);
    return number;
  }
  return 0;
}

}  // namespace simba::cli
