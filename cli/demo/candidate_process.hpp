#pragma once

#include <csignal>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/demo/actor.hpp"

namespace simba::cli::demo {

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
