#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

#include "cli/child/signals.hpp"
#include "cli/errors.hpp"
#include "core/threads/wakeup.hpp"
#include "simba/core/contention_event.hpp"
#include "simba/core/error.hpp"
#include "simba/core/mutex_contender.hpp"

namespace simba::cli {

/// How a command that runs for ever comes to its end: by a signal, or since the store refuses us
/// before it has let us in even once (a wrong password does not get right by waiting), or since the
/// owner is a simba that we run inside, or since another process uses the same contender id.
///
/// Threads: `answered` and `note` may be called from any thread.
class LongRunning {
 public:
  /// The store knows us, and says who owns the mutex.
  void answered(const MutexContender& contender, const MutexState& state);

  /// Notes a failure that does not pass.
  void note(const MutexContender& contender, const ContentionEvent& event);

  /// Lets `wait_for_end` look.
  void wake() const noexcept { wake_up_.raise(); }

  /// Something to be done now and then on the main thread: returns after how long again at the
  /// latest; nothing: it is time to end.
  using Look = std::function<std::optional<std::chrono::milliseconds>()>;

  /// Waits on the main thread until INT, TERM, HUP or QUIT came, `look` wants it, or we cannot go
  /// on. That is for `check()` to throw, once nothing is left that a callback may use.
  void wait_for_end(
      Signals& signals, const Look& look = [] { return std::chrono::milliseconds{60'000}; });

  /// Throws what `look` has thrown, or Failure where we cannot go on: that may have come at the end
  /// only.
  void check();

 private:
  void wait(Signals& signals, const Look& look);

  const detail::Wakeup wake_up_;
  std::exception_ptr ended_by_;  // used by the main thread
  std::mutex mutex_;
  // guarded by mutex_
  bool answered_ = false;
  std::optional<Failure> refusal_{};
};

}  // namespace simba::cli
