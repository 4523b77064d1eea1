#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "simba/core/mutex_owner.hpp"

namespace simba {

/// A change of owner: who held the mutex before and who holds it after. An immutable value.
class MutexState {
 public:
  /// Nobody before, nobody after.
  [[nodiscard]] static const MutexState& none() noexcept;

  MutexState() = default;
  MutexState(MutexOwner before, MutexOwner after);

  [[nodiscard]] const MutexOwner& before() const noexcept { return before_; }
  [[nodiscard]] const MutexOwner& after() const noexcept { return after_; }

  /// True if the owner id differs. A renewal is not a change.
  [[nodiscard]] bool is_changed() const noexcept;

  [[nodiscard]] bool is_acquired(std::string_view contender_id) const noexcept;
  [[nodiscard]] bool is_released(std::string_view contender_id) const noexcept;
  [[nodiscard]] bool is_owner(std::string_view contender_id) const noexcept;
  [[nodiscard]] bool is_in_ttl(std::string_view contender_id) const noexcept;

  friend bool operator==(const MutexState&, const MutexState&) noexcept = default;

 private:
  MutexOwner before_;
  MutexOwner after_;
};

/// E.g. "nobody -> a (fencing token 7)".
std::string to_string(const MutexState& state);
std::ostream& operator<<(std::ostream& out, const MutexState& state);

}  // namespace simba
