#pragma once

#include <mutex>
#include <optional>

#include "cli/signals.hpp"
#include "cli/wake_up.hpp"
#include "simba/core/contention_event.hpp"
#include "simba/core/error.hpp"

namespace simba::cli {

/// How a command that runs for ever comes to its end: by a signal, or since the store refuses us
/// before it has let us in even once (a wrong password does not get right by waiting).
///
/// Threads: `answered` and `failed` may be called from any thread.
class LongRunning {
 public:
  /// The store knows us.
  void answered();

  /// Notes a failure that does not pass.
  void note(const ContentionEvent& event);

  /// Waits on the main thread. Throws Failure where the store refuses us. Returns when INT, TERM,
  /// HUP or QUIT came.
  void wait_for_end(Signals& signals);

 private:
  const WakeUp wake_up_;
  std::mutex mutex_;
  // guarded by mutex_
  bool answered_ = false;
  std::optional<Error> refusal_{};
};

}  // namespace simba::cli
