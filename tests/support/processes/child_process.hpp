#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace simba::support {

/// A process with variables of its own in its environment. The destructor kills it.
///
/// Threads: used by one thread at a time.
class ChildProcess {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  /// Whether SIGTERM, SIGINT and SIGHUP reach it before it asks for them.
  enum class EndSignals { open, blocked };

  /// `words`: the path of the program and its arguments. Throws std::system_error.
  ChildProcess(const std::vector<std::string>& words, const Variables& variables,
               EndSignals signals = EndSignals::open);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// -1: its end has been waited for.
  pid_t id() const noexcept { return process_; }

  bool running();
  void signal(int number) const;

  /// SIGKILL, and waits.
  void kill();

  /// Waits for the end. Returns the exit code; 128 and more: ended by a signal.
  int wait();

 private:
  pid_t process_ = -1;  // -1: has ended
  int exit_code_ = -1;
};

/// The environment of this process with some variables in place of its own.
std::vector<std::string> environment_with(const ChildProcess::Variables& variables);

/// As exec wants it, with a null at the end. It points into `texts`.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

/// The program that runs.
std::filesystem::path own_program();

}  // namespace simba::support
