#pragma once

#include <chrono>
#include <csignal>

namespace simba::mysql {

/// Descriptors of the client library, which leaves some things undone.

/// Not inherited by programs that this one starts.
void close_on_exec(int descriptor) noexcept;

/// The library reads and writes encrypted data as if the socket never blocked, but leaves it in
/// blocking mode. Until it is connected a limit to each read must do, since it shakes hands so.
void limit_blocking(int descriptor, std::chrono::milliseconds limit) noexcept;
void never_block(int descriptor) noexcept;

/// Cuts the connection at once. The descriptor stays valid, for its owner to close, and leads
/// nowhere: reading gives an end or an error, and writing raises no signal.
void cut(int descriptor) noexcept;

/// Keeps SIGPIPE, which encrypted writes to a closed connection raise, from this thread.
class NoPipeSignal {
 public:
  /// Does nothing where `needed` is false.
  explicit NoPipeSignal(bool needed) noexcept;
  ~NoPipeSignal();
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  bool blocked_ = false;
  sigset_t before_{};
};

}  // namespace simba::mysql
