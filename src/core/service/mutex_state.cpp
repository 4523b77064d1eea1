#include "simba/core/mutex_state.hpp"

#include <ostream>
#include <utility>

namespace simba {

const MutexState& MutexState::none() noexcept {
  // Never destroyed: threads may ask for it while the process ends.
  static const MutexState& nobody = *new MutexState;  // NOLINT(bugprone-unhandled-exception-at-new)
  return nobody;
}

MutexState::MutexState(MutexOwner before, MutexOwner after)
    : before_{std::move(before)}, after_{std::move(after)} {}

bool MutexState::is_changed() const noexcept { return before_.owner_id() != after_.owner_id(); }

bool MutexState::is_acquired(std::string_view contender_id) const noexcept {
  return is_changed() && after_.is_owner(contender_id);
}

bool MutexState::is_released(std::string_view contender_id) const noexcept {
  return is_changed() && before_.is_owner(contender_id);
}

bool MutexState::is_owner(std::string_view contender_id) const noexcept {
  return after_.is_owner(contender_id);
}

bool MutexState::is_in_ttl(std::string_view contender_id) const noexcept {
  return after_.is_in_ttl(contender_id);
}

std::string to_string(const MutexState& state) {
  return to_string(state.before()) + " -> " + to_string(state.after());
}

std::ostream& operator<<(std::ostream& out, const MutexState& state) {
  return out << to_string(state);
}

}  // namespace simba
