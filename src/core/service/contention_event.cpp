#include "simba/core/contention_event.hpp"

namespace simba {

std::string_view to_string(LossReason reason) noexcept {
  switch (reason) {
    case LossReason::expired:
      return "expired";
    case LossReason::taken_over:
      return "taken over";
    case LossReason::revoked:
      return "revoked";
    case LossReason::duplicate_id:
      return "duplicate id";
  }
  return "unknown";
}

}  // namespace simba
