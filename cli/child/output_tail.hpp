#pragma once

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include "core/threads/wakeup.hpp"

namespace simba::cli {

/// Passes on what a program prints to our standard output and error, and keeps the end of it. If
/// nobody reads ours any more, the program finds that out as if it wrote there itself.
///
/// Threads: has one of its own; used by one thread otherwise.
class OutputTail {
 public:
  /// Throws std::system_error.
  OutputTail();
  ~OutputTail();
  OutputTail(const OutputTail&) = delete;
  OutputTail& operator=(const OutputTail&) = delete;

  /// For the program, as its standard output and error.
  int output() const noexcept { return streams_[0].theirs; }
  int errors() const noexcept { return streams_[1].theirs; }

  /// To be called when the program has ended: passes on what it has left, but does not wait for
  /// long where ours are stuck. Returns the end of its output and after that of its errors, 2,000
  /// bytes together and of each at least the half, if it has printed as much.
  std::string finish();

 private:
  struct Stream {
    int ours = -1;    // end of the pipe to read from; -1: closed
    int theirs = -1;  // end to write to
    int target = -1;
    std::string tail{};  // used by the thread, and when that has ended
  };

  void pass_on_all();
  bool pass_on(Stream& stream);
  bool write_to(int target, std::string_view text) const;

  std::array<Stream, 2> streams_;
  const detail::Wakeup wake_up_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace simba::cli
