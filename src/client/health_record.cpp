#include "client/health_record.hpp"

#include <ostream>
#include <variant>

namespace simba {

namespace detail {

void HealthRecord::note(const ContentionEvent& event, LocalTime now) noexcept {
  if (const auto* lost = std::get_if<OwnershipLost>(&event)) {
    if (lost->reason == LossReason::duplicate_id) out_ = true;
    return;
  }
  const auto* failed = std::get_if<AcquireFailed>(&event);
  if (failed != nullptr && failed->error.kind() == ErrorKind::duplicate_id) out_ = true;
  failed_at_ = now;
}

Health HealthRecord::health(const MutexContendService& service) const noexcept {
  if (out_) return Health::out;
  // No renewal of an owner past its ttl has succeeded, though a callback may keep it from hearing
  // of that.
  const bool owns = service.is_owner();
  if (service.is_in_ttl()) return Health::well;
  if (owns) return Health::troubled;
  const LocalTime failed_at = failed_at_.load();
  if (failed_at == LocalTime::min()) return Health::well;
  // What the store has said since then shows that it answers again.
  const MutexOwner owner = service.mutex_state().after();
  const bool answered = !service.is_owner() && owner.local_lease().acquired_at > failed_at;
  return answered ? Health::well : Health::troubled;
}

}  // namespace detail

std::string_view to_string(Health health) noexcept {
  switch (health) {
    case Health::well:
      return "well";
    case Health::troubled:
      return "troubled";
    case Health::out:
      return "out";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, Health health) { return out << to_string(health); }

}  // namespace simba
