#pragma once

#include <csignal>
#include <sys/types.h>

namespace simba::cli {

/// Signals as something to read: those that end, stop or tell a program something, but for the ones
/// that whoever has started us wants ignored. Make it before any thread, so that no thread is hit.
///
/// SIGTSTP counts only where there is a terminal: without one nobody would let us go on, so the
/// kernel does not stop such programs either.
///
/// Threads: used by the main thread.
class Signals {
 public:
  /// Who reaps what has become our child, as first process of a container or as subreaper.
  enum class Orphans { nobody, reaped };

  /// Throws std::system_error.
  explicit Signals(Orphans orphans = Orphans::nobody);

  /// Does not put the mask back: one that comes late must not change how the program ends.
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Readable when `next()` has something.
  int file() const noexcept { return file_; }

  /// The next one; 0: none has come. Reaps.
  int next() noexcept;

  /// Whether the last one came from the service manager: the process 1, or what MANAGERPID names.
  bool from_manager() const noexcept { return from_manager_; }

  /// The service manager, as far as we know: 1 where nobody says.
  pid_t manager() const noexcept { return manager_; }

  /// The mask that we were started with, for programs that we start.
  const sigset_t& original_mask() const noexcept { return original_; }

 private:
  sigset_t original_{};
  int file_ = -1;
  pid_t manager_ = 1;
  bool from_manager_ = false;
};

/// True where a program that does not care is ended by it.
constexpr bool is_ending(int signal) noexcept {
  return signal != SIGWINCH && signal != SIGTSTP && signal != SIGCONT;
}

}  // namespace simba::cli
