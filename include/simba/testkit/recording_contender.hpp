#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/testkit/change_signal.hpp"

namespace simba::testkit {

/// Functions that a `RecordingContender` calls after recording a call. They may block and throw,
/// like the callbacks of any contender.
struct RecordingHooks {
  std::function<void(const MutexState&)> on_acquired;
  std::function<void(const MutexState&)> on_released;
  std::function<void(const ContentionEvent&)> on_event;
};

/// A contender that records every call, in order.
///
/// Threads: every function may be called concurrently from any thread. Hooks are called with no
/// lock held.
/// Lifetime: as for every contender, it outlives its service.
class RecordingContender : public AbstractMutexContender {
 public:
  struct Call {
    enum class Kind {
      acquired,  ///< `on_acquired`
      released,  ///< `on_released`
      event,     ///< `on_event`
      observed,  ///< `notify_owner` of a change between others
    };
    Kind kind = Kind::acquired;
    MutexState state;                      ///< none() for an event
    std::optional<ContentionEvent> event;  ///< for an event
    FencingToken token = 0;                ///< of the ownership that begins, ends, or is observed
  };

  explicit RecordingContender(std::string mutex, RecordingHooks hooks = {});
  RecordingContender(std::string mutex, std::string contender_id, RecordingHooks hooks = {});

  void on_acquired(const MutexState& state) override;
  void on_released(const MutexState& state) override;
  void on_event(const ContentionEvent& event) override;
  void notify_owner(const MutexState& state) override;

  /// Everything, oldest first.
  std::vector<Call> calls() const;

  std::size_t acquisitions() const { return count(Call::Kind::acquired); }
  std::size_t releases() const { return count(Call::Kind::released); }
  std::size_t count(Call::Kind kind) const;

  /// True between `on_acquired` and `on_released`.
  bool holds() const;

  /// The fencing tokens of the acquisitions, oldest first.
  std::vector<FencingToken> tokens() const;

  std::vector<ContentionEvent> events() const;

  /// The owner ids of all states that this contender was told, "" for nobody.
  std::vector<std::string> owners() const;

  /// How often a call started while another one was still running. A service never lets that
  /// happen, except for a call from inside another one on the same thread.
  std::size_t overlaps() const noexcept { return overlaps_.load(); }

  /// Waits up to `limit`, in real time, until so many were recorded, and returns whether they were.
  bool wait_for_acquisitions(std::size_t at_least, std::chrono::milliseconds limit) const;
  bool wait_for_releases(std::size_t at_least, std::chrono::milliseconds limit) const;

  /// Waits up to `limit`, in real time, until `done()` is true, and returns whether it is. `done`
  /// is called again after every recorded call.
  bool wait_until(const std::function<bool()>& done, std::chrono::milliseconds limit) const;

  /// Forgets what was recorded.
  void clear();

 private:
  class Inside;

  void record(Call call);

  // constant after construction
  const RecordingHooks hooks_;

  std::atomic<std::size_t> overlaps_{0};
  ChangeSignal signal_;
  mutable std::mutex mutex_;
  // guarded by mutex_
  std::vector<Call> calls_;
  std::vector<std::thread::id> inside_;  // the threads that run a call now
};

}  // namespace simba::testkit
