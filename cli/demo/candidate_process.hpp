#pragma once

#include <csignal>
#include <string>
#include <sys/types.h>
#include <vector>

#include "simba/config/configuration.hpp"
#include "simba/core/time.hpp"

namespace simba::cli::demo {

/// The mutex that the candidates of the demonstration contend for.
inline constexpr auto mutex_name = "demo-leader";

/// What a candidate, a process of its own, tells the stage by lines on its standard output: a word,
/// a fencing token (0: none) and a moment of CLOCK_BOOTTIME in nanoseconds.
struct News {
  enum class Kind { leads, follows };
  Kind kind = Kind::follows;
  FencingToken token = 0;
  LocalTime at{};
};

std::string to_line(const News& news);

/// Throws std::invalid_argument.
News parse_news(const std::string& line);

LocalTime local_now() noexcept;

/// The store that they share: an SQLite database.
struct StoreSetting {
  std::string path{};
  std::string ttl{};
  std::string transition{};
};

/// Throws Error, of kind `unsupported` where SQLite was not built in.
config::Configuration to_configuration(const StoreSetting& setting);

/// Is the candidate `name` on that store until TERM comes. Returns the exit code.
int be_candidate(const std::string& name, const StoreSetting& setting, int verbosity);

/// A candidate of the demonstration: this program once more. It is killed with this object, and by
/// the kernel when we are gone.
///
/// Threads: used by one thread.
class CandidateProcess {
 public:
  /// `mask`: its signal mask. Throws std::system_error.
  CandidateProcess(const std::string& name, const StoreSetting& setting, const sigset_t& mask);
  ~CandidateProcess();
  CandidateProcess(const CandidateProcess&) = delete;
  CandidateProcess& operator=(const CandidateProcess&) = delete;

  pid_t pid() const noexcept { return pid_; }

  /// Readable when `read()` has something to do.
  int file() const noexcept { return channel_; }

  /// What it has told since the last call. Does not wait.
  std::vector<News> read();

  /// True once it has closed its output, as it does by ending, and `read()` has seen that.
  bool ended() const noexcept { return ended_; }

  void signal(int number) const noexcept { ::kill(pid_, number); }

 private:
  pid_t pid_ = -1;
  int channel_ = -1;
  bool ended_ = false;
  std::string pending_;  // the beginning of a line
};

}  // namespace simba::cli::demo
