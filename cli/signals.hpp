#pragma once

#include <csignal>

namespace simba::cli {

/// Signals as something to read: those that end, stop or tell a program something, but for the ones
/// that whoever has started us wants ignored. Make it before any thread, so that no thread is hit.
///
/// Threads: used by the main thread.
class Signals {
 public:
  /// Throws std::system_error.
  Signals();

  /// Does not put the mask back: one that comes late must not change how the program ends.
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Readable when `next()` has something.
  int file() const noexcept { return file_; }

  /// The next one; 0: none has come.
  int next() const noexcept;

  /// The mask that we were started with, for programs that we start.
  const sigset_t& original_mask() const noexcept { return original_; }

 private:
  sigset_t original_{};
  int file_ = -1;
};

/// True where a program that does not care is ended by it.
constexpr bool is_ending(int signal) noexcept {
  return signal != SIGWINCH && signal != SIGTSTP && signal != SIGCONT;
}

}  // namespace simba::cli
