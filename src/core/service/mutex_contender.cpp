#include "simba/core/mutex_contender.hpp"

namespace simba {

void MutexContender::on_event(const ContentionEvent& /*event*/) {}

void MutexContender::notify_owner(const MutexState& state) {
  // Both ask for a change, and one contender cannot be before and after it, so at most one is
  // true.
  if (state.is_acquired(contender_id())) {
    on_acquired(state);
  } else if (state.is_released(contender_id())) {
    on_released(state);
  }
}

}  // namespace simba
