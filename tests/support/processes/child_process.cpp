#include "support/processes/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace simba::support {

std::vector<std::string> environment_with(const ChildProcess::Variables& variables) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text{*entry};
    bool replaced = false;
    for (const auto& [name, value] : variables) {
      replaced = replaced || text.starts_with(name + '=');
    }
    if (!replaced) {
      result.push_back(text);
    }
  }
  for (const auto& [name, value] : variables) {
    result.push_back(name + '=' + value);
  }
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

ChildProcess::ChildProcess(const std::vector<std::string>& words, const Variables& variables,
                           EndSignals signals) {
  auto own_words = words;
  auto own_environment = environment_with(variables);
  sigset_t mask;
  ::sigemptyset(&mask);
  if (signals == EndSignals::blocked) {
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
      ::sigaddset(&mask, number);
    }
  }
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  const int error =
      ::posix_spawn(&process_, own_words.at(0).c_str(), nullptr, &attributes,
                    pointers_to(own_words).data(), pointers_to(own_environment).data());
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw std::system_error{error, std::generic_category(), words.at(0)};
  }
}

ChildProcess::~ChildProcess() { kill(); }

bool ChildProcess::running() {
  if (process_ == -1) {
    return false;
  }
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

void ChildProcess::signal(int number) const {
  if (process_ != -1) {
    ::kill(process_, number);
  }
}

void ChildProcess::kill() {
  signal(SIGKILL);
  wait();
}

int ChildProcess::wait() {
  if (process_ != -1) {
    int status = 0;
    while (::waitpid(process_, &status, 0) == -1 && errno == EINTR) {
    }
    process_ = -1;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return exit_code_;
}

std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

}  // namespace simba::support
