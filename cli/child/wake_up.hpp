#pragma once

namespace simba::cli {

/// Lets any thread wake one that polls.
///
/// Threads: every function may be called from any thread.
class WakeUp {
 public:
  /// Throws std::system_error.
  WakeUp();
  ~WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  /// Readable after `wake()`, until `clear()`.
  int file() const noexcept { return file_; }
  void wake() const noexcept;
  void clear() const noexcept;

 private:
  int file_ = -1;
};

}  // namespace simba::cli
