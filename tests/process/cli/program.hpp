#pragma once

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <optional>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/patience.hpp"
#include "support/temporary_folder.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace simba::support {

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream{file, std::ios::binary};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// 'R', 'S', 'T' (stopped), 'Z' and so on; 0: there is no such process.
inline char state_of(pid_t process) {
  const std::string text = content_of("/proc/" + std::to_string(process) + "/stat");
  const auto end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() ? '\0' : text[end + 2];
}

inline bool is_alive(pid_t process) {
  const char state = state_of(process);
  return state != '\0' && state != 'Z' && state != 'X';
}

/// Whether a signal to the process has come that nobody has taken yet.
inline bool is_pending(pid_t process, int signal) {
  const std::string text = content_of("/proc/" + std::to_string(process) + "/status");
  const auto at = text.find("ShdPnd:");
  if (at == std::string::npos) return false;
  return ((std::stoull(text.substr(at + 7), nullptr, 16) >> (signal - 1)) & 1U) != 0;
}

/// The direct children of a process, whichever of its threads has made them.
inline std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code gone;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator{tasks, gone}) {
    std::istringstream stream{content_of(task.path() / "children")};
    for (pid_t child = 0; stream >> child;) children.push_back(child);
  }
  return children;
}

/// The command `simba` as a process in a session of its own, without a terminal, with default
/// signal handlers. Its environment is ours without the variables of Simba, with a home of its own,
/// a UTF-8 locale, and with `variables`. What it prints is kept in files.
///
/// The destructor kills it.
class CliProgram {
 public:
  using Variables = std::map<std::string, std::string>;

  explicit CliProgram(const std::vector<std::string>& arguments, const Variables& variables = {},
                      std::string_view input = {})
      : CliProgram{Any::program, SIMBA_TEST_COMMAND, arguments, variables, input} {}

  /// Another program, searched in PATH, which runs the command.
  enum class Any { program };
  CliProgram(Any /*any*/, const std::string& name, std::vector<std::string> arguments,
             const Variables& variables = {}, std::string_view input = {}) {
    const auto input_file = folder_.path() / "in";
    std::ofstream{input_file} << input;
    arguments.insert(arguments.begin(), name);
    auto lines = environment(variables);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, input_file.c_str(), O_RDONLY, 0);
    constexpr int create = O_WRONLY | O_CREAT | O_APPEND;
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out_file().c_str(), create, 0600);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err_file().c_str(), create, 0600);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    const int error = ::posix_spawnp(&process_, name.c_str(), &files, &attributes,
                                     pointers_to(arguments).data(), pointers_to(lines).data());
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) throw std::system_error{error, std::generic_category(), name};
  }

  ~CliProgram() {
    if (code_) return;
    ::kill(process_, SIGKILL);
    wait();
  }
  CliProgram(const CliProgram&) = delete;
  CliProgram& operator=(const CliProgram&) = delete;

  pid_t process() const noexcept { return process_; }
  void signal(int number) const { ::kill(process_, number); }

  /// Waits for its end. Returns the exit code; -n: signal n has ended it.
  int wait() {
    while (!code_) {
      int status = 0;
      if (::waitpid(process_, &status, 0) == process_) {
        code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      } else if (errno != EINTR) {
        code_ = -1000;
      }
    }
    return *code_;
  }

  std::string out() const { return content_of(out_file()); }
  std::string err() const { return content_of(err_file()); }

  /// Wait until it has printed this.
  bool says(std::string_view text) const {
    return eventually([&] { return out().find(text) != std::string::npos; });
  }
  bool notes(std::string_view text) const {
    return eventually([&] { return err().find(text) != std::string::npos; });
  }

  /// The number that it prints after `name` and a space, e.g. "cmd 4711".
  pid_t number(const std::string& name) const {
    pid_t found = 0;
    eventually([&] {
      const std::string text = "\n" + out();
      const auto at = text.find("\n" + name + " ");
      const auto end = at == std::string::npos ? at : text.find('\n', at + 1);
      if (end == std::string::npos) return false;
      found = std::stoi(text.substr(at + name.size() + 2));
      return true;
    });
    // A signal to the process 0 would reach the tests themselves.
    if (found <= 0) throw std::runtime_error{"the program has not told the number of " + name};
    return found;
  }

  const std::filesystem::path& home() const noexcept { return folder_.path(); }

 private:
  std::filesystem::path out_file() const { return folder_.path() / "out"; }
  std::filesystem::path err_file() const { return folder_.path() / "err"; }

  std::vector<std::string> environment(const Variables& variables) const {
    Variables all;
    for (char** line = environ; *line != nullptr; ++line) {
      const std::string text = *line;
      const auto equals = text.find('=');
      const auto name = text.substr(0, equals);
      if (name.starts_with("SIMBA_") || name == "XDG_STATE_HOME" || equals == std::string::npos) {
        continue;
      }
      all[name] = text.substr(equals + 1);
    }
    all["HOME"] = folder_.path().string();
    all["LC_ALL"] = "C.UTF-8";
    for (const auto& [name, value] : variables) all[name] = value;
    std::vector<std::string> lines;
    for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
    return lines;
  }

  static std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  }

  const TemporaryFolder folder_;
  pid_t process_ = -1;
  std::optional<int> code_;
};

/// The command as a user to whom the permissions of files apply. To root they do not.
inline CliProgram as_ordinary_user(std::vector<std::string> command) {
  if (::geteuid() != 0) return CliProgram{command};
  const std::string rights = "-dac_override,-dac_read_search";
  command.insert(command.begin(),
                 {"--bounding-set=" + rights, "--inh-caps=" + rights, SIMBA_TEST_COMMAND});
  return CliProgram{CliProgram::Any::program, "setpriv", command};
}

/// A pipe for the standard output of a command: once full, it takes nothing until it is read.
class OutputPipe {
 public:
  explicit OutputPipe(std::filesystem::path path) : path_{std::move(path)} {
    if (::mkfifo(path_.c_str(), 0600) == 0) {
      file_ = ::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    }
    if (file_ < 0) throw std::system_error{errno, std::generic_category(), path_};
  }
  ~OutputPipe() { ::close(file_); }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  void fill() const {
    while (::write(file_, "#", 1) == 1) {
    }
  }

  /// Takes a page of the filling out, so that it takes as much again.
  void make_room() const {
    std::array<char, 4096> page{};
    if (::read(file_, page.data(), page.size()) != static_cast<ssize_t>(page.size())) {
      throw std::runtime_error{"the pipe was not full"};
    }
  }

  /// How many bytes wait in it.
  int size() const {
    int size = 0;
    ::ioctl(file_, FIONREAD, &size);
    return size;
  }

  /// What was written so far, without the filling.
  const std::string& read() {
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = ::read(file_, buffer.data(), buffer.size())) > 0;) {
      text_.append(buffer.data(), static_cast<std::size_t>(size));
      std::erase(text_, '#');
    }
    return text_;
  }

  bool has(const std::string& text) {
    return eventually([&] { return read().find(text) != std::string::npos; });
  }

  CliProgram run(const std::vector<std::string>& command) const {
    std::vector<std::string> words{"-c", "exec \"$@\" >'" + path_.string() + "'", "sh",
                                   SIMBA_TEST_COMMAND};
    words.insert(words.end(), command.begin(), command.end());
    return CliProgram{CliProgram::Any::program, "sh", words};
  }

 private:
  const std::filesystem::path path_;
  int file_ = -1;
  std::string text_;
};

}  // namespace simba::support
