#include "support/supervisor/process.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <iterator>
#include <map>
#include <optional>
#include <pwd.h>
#include <sched.h>
#include <stdexcept>
#include <string_view>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace simba::support {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds run_limit{120};

struct Account {
  uid_t user;
  gid_t group;
};

/// Empty where we may not or need not become someone else.
std::optional<Account> account() {
  if (::geteuid() != 0) {
    return std::nullopt;
  }
  const passwd* entry = ::getpwnam("nobody");
  if (entry == nullptr) {
    throw std::runtime_error{"there is no account 'nobody' to run a test server as"};
  }
  return Account{entry->pw_uid, entry->pw_gid};
}

[[noreturn]] void give_up(const char* what) {
  const auto text = fmt::format("{}: {}\n", what, std::system_category().message(errno));
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  ::_exit(127);
}

bool write_file(const char* file, std::string_view text) {
  const int descriptor = ::open(file, O_WRONLY | O_CLOEXEC);
  const bool written = descriptor != -1 && ::write(descriptor, text.data(), text.size()) ==
                                               static_cast<ssize_t>(text.size());
  ::close(descriptor);
  return written;
}

/// In the child: needs no root where users may make namespaces.
void put_in_place(const Cover& cover) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (user == 0) {
    if (::unshare(CLONE_NEWNS) != 0) give_up("unshare");
  } else if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
             !write_file("/proc/self/setgroups", "deny") ||
             !write_file("/proc/self/uid_map", fmt::format("{0} {0} 1", user)) ||
             !write_file("/proc/self/gid_map", fmt::format("{0} {0} 1", group))) {
    give_up("a namespace for a server of another release");
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount(cover.from.c_str(), cover.over.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    give_up(cover.from.c_str());
  }
}

/// In the child: becomes the program.
[[noreturn]] void become(const Command& command, const std::optional<Account>& who, pid_t parent) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);

  const int log = ::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const int input =
      ::open(command.input.empty() ? "/dev/null" : command.input.c_str(), O_RDONLY | O_CLOEXEC);
  if (log == -1 || input == -1) {
    give_up("open");
  }
  ::dup2(input, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (::chdir(command.folder.c_str()) != 0) {
    give_up(command.folder.c_str());
  }
  if (command.cover) {
    put_in_place(*command.cover);
  }
  if (who &&
      (::setgroups(0, nullptr) != 0 || ::setgid(who->group) != 0 || ::setuid(who->user) != 0)) {
    give_up("setuid");
  }
  ::setenv("HOME", command.folder.c_str(), 1);
  ::setenv("LC_ALL", "C.UTF-8", 1);  // the caller's may be none, or one that is not installed
  // For what a test loads into its servers; the supervisor itself is not to have it.
  if (const char* const libraries = std::getenv("SIMBA_TEST_SERVER_PRELOAD")) {
    ::setenv("LD_PRELOAD", libraries, 1);
  }
  // After the change of user, which clears it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(127);
  }
  std::vector<char*> argv;
  for (const auto& word : command.words) {
    argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: exec does not write to it
  }
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  give_up(argv[0]);
}

std::optional<pid_t> parent_of(const fs::path& process) {
  std::ifstream stream{process / "stat"};
  std::string text;
  std::getline(stream, text, '\0');  // fails, and does not throw, where the process ends meanwhile
  const auto end_of_name = text.rfind(')');
  pid_t parent = 0;
  if (end_of_name == std::string::npos || text.size() < end_of_name + 5 ||
      std::from_chars(text.data() + end_of_name + 4, text.data() + text.size(), parent).ec !=
          std::errc{}) {
    return std::nullopt;
  }
  return parent;
}

}  // namespace

pid_t spawn(const Command& command) {
  const auto who = account();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    become(command, who, parent);
  }
  if (child == -1) {
    throw std::system_error{errno, std::generic_category(), "fork"};
  }
  return child;
}

void run(const Command& command, Caller& caller) {
  const pid_t child = spawn(command);
  const int handle = watch_process(child);
  const auto finish = [&] {
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(handle);
    return status;
  };
  bool ended = false;
  try {
    ended = caller.wait(handle, run_limit);
  } catch (...) {
    ::kill(child, SIGKILL);
    finish();
    throw;
  }
  if (!ended) {
    ::kill(child, SIGKILL);
  }
  if (const int status = finish(); status != 0) {
    throw std::runtime_error{
        fmt::format("{} failed:\n{}", command.words.front(), tail(command.log))};
  }
}

void hand_over(const fs::path& path) {
  const auto who = account();
  if (!who) {
    return;
  }
  const auto give = [&](const fs::path& one) {
    if (::lchown(one.c_str(), who->user, who->group) != 0) {
      throw std::system_error{errno, std::generic_category(), one.string()};
    }
  };
  give(path);
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator{path}) {
      give(entry.path());
    }
  }
}

std::string tail(const fs::path& file) {
  constexpr std::size_t enough = 2'000;
  std::ifstream stream{file};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  return text.size() <= enough ? text : text.substr(text.size() - enough);
}

std::vector<pid_t> family(pid_t process) {
  std::multimap<pid_t, pid_t> children;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator{"/proc", gone}) {
    const auto name = entry.path().filename().string();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec == std::errc{}) {
      if (const auto parent = parent_of(entry.path())) {
        children.emplace(*parent, pid);
      }
    }
  }
  std::vector<pid_t> found{process};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const auto [first, last] = children.equal_range(found[next]);
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
    }
  }
  return found;
}

}  // namespace simba::support
