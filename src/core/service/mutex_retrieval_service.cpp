#include "simba/core/mutex_retrieval_service.hpp"

namespace simba {

std::string_view to_string(ServiceStatus status) noexcept {
  switch (status) {
    case ServiceStatus::initial:
      return "INITIAL";
    case ServiceStatus::starting:
      return "STARTING";
    case ServiceStatus::running:
      return "RUNNING";
    case ServiceStatus::stopping:
      return "STOPPING";
  }
  return "UNKNOWN";
}

}  // namespace simba
