#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "cli/child/signals.hpp"
#include "cli/terminal/output.hpp"
#include "core/threads/wakeup.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/error.hpp"

namespace simba::cli {

/// A contender for the main thread, which polls: notes what comes and wakes it.
///
/// Threads: every function may be called from any thread.
class Candidate final : public AbstractMutexContender {
 public:
  using AbstractMutexContender::AbstractMutexContender;

  struct News {
    bool acquired = false;         ///< by us, at some time
    bool answered = false;         ///< the store has told us something
    std::string owner{};           ///< who owns it, as far as we know; empty: nobody
    std::optional<Error> error{};  ///< of the last attempt, unless an answer came since
    bool duplicate_id = false;     ///< another process uses our id, so we have lost or given up
  };

  /// Readable when there may be news.
  int file() const noexcept { return wake_up_.descriptor(); }
  News news();

  /// From the acquisition until this is called nothing is given back, not even after a loss:
  /// somebody may still use what the mutex protects.
  void end_use();

  void wake() const noexcept { wake_up_.raise(); }

  void notify_owner(const MutexState& state) override;
  void on_event(const ContentionEvent& event) override;

 private:
  const detail::Wakeup wake_up_;
  std::mutex mutex_;
  std::condition_variable unused_;
  // guarded by mutex_
  News news_;
  bool in_use_ = false;
};

/// How long to wait for a mutex.
struct Patience {
  std::optional<std::chrono::milliseconds> limit{};  ///< zero: ask once; empty: no limit

  /// How long a store that has never answered is tried where there is no limit.
  std::chrono::milliseconds silence{5'000};
};

/// Waits until the candidate, whose service runs, owns its mutex. A wait of over a second is told,
/// with the owner.
///
/// Returns nothing once it is owned; the exit code when a signal came first. Throws Failure: 75
/// when the time is over, 69 when the store has given no answer, and what fits for an error that
/// waiting does not cure.
std::optional<int> wait_for_mutex(Candidate& candidate, Signals& signals, const Patience& patience,
                                  Output& output);

}  // namespace simba::cli
