#include "cli/candidate.hpp"

#include <variant>

namespace simba::cli {

Candidate::News Candidate::news() {
  wake_up_.clear();
  const std::lock_guard lock{mutex_};
  return news_;
}

void Candidate::end_use() {
  {
    const std::lock_guard lock{mutex_};
    in_use_ = false;
  }
  unused_.notify_all();
}

void Candidate::notify_owner(const MutexState& state) {
  std::unique_lock lock{mutex_};
  news_.answered = true;
  news_.error.reset();
  news_.owner = state.after().owner_id();
  if (state.is_acquired(contender_id())) news_.acquired = in_use_ = true;
  wake_up_.wake();
  if (state.is_released(contender_id())) unused_.wait(lock, [this] { return !in_use_; });
}

void Candidate::on_event(const ContentionEvent& event) {
  const auto* failed = std::get_if<AcquireFailed>(&event);
  const auto* lost = std::get_if<OwnershipLost>(&event);
  {
    const std::lock_guard lock{mutex_};
    if (failed != nullptr) {
      news_.error = failed->error;
      if (failed->namesake) {
        news_.answered = true;
        news_.owner = contender_id();
      }
      if (failed->error.kind() == ErrorKind::duplicate_id) news_.duplicate_id = true;
    }
    if (lost != nullptr && lost->reason == LossReason::duplicate_id) news_.duplicate_id = true;
  }
  wake_up_.wake();
}

}  // namespace simba::cli
