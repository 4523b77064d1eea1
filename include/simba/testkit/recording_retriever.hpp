#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "simba/core/mutex_retriever.hpp"
#include "simba/testkit/change_signal.hpp"

namespace simba::testkit {

/// An observer that records every state, in order.
///
/// Threads: every function may be called concurrently from any thread.
/// Lifetime: as for every retriever, it outlives its service.
class RecordingRetriever final : public MutexRetriever {
 public:
  /// `hook`, if any, is called after each state was recorded, with no lock held.
  explicit RecordingRetriever(std::string mutex, std::function<void(const MutexState&)> hook = {});

  const std::string& mutex() const noexcept override { return mutex_; }
  void notify_owner(const MutexState& state) override;

  /// All states, oldest first.
  std::vector<MutexState> states() const;

  /// The owner ids of all states, "" for nobody.
  std::vector<std::string> owners() const;

  /// The owner id of the newest state, "" for nobody.
  std::string owner() const;

  std::size_t size() const;

  /// Waits up to `limit`, in real time, until the newest state has this owner, and returns whether
  /// it does.
  bool wait_for_owner(const std::string& owner_id, std::chrono::milliseconds limit) const;

  /// Waits up to `limit`, in real time, until `done()` is true, and returns whether it is. `done`
  /// is called again after every state.
  bool wait_until(const std::function<bool()>& done, std::chrono::milliseconds limit) const;

  /// Forgets what was recorded.
  void clear();

 private:
  const std::string mutex_;
  const std::function<void(const MutexState&)> hook_;

  ChangeSignal signal_;
  mutable std::mutex guard_;
  std::vector<MutexState> states_;  // guarded by guard_
};

}  // namespace simba::testkit
