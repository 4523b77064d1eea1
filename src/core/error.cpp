#include "simba/core/error.hpp"

#include <ostream>

namespace simba {

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::unavailable:
      return "unavailable";
    case ErrorKind::timeout:
      return "timeout";
    case ErrorKind::in_doubt:
      return "in doubt";
    case ErrorKind::authentication:
      return "authentication";
    case ErrorKind::permission:
      return "permission";
    case ErrorKind::invalid_argument:
      return "invalid argument";
    case ErrorKind::illegal_state:
      return "illegal state";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::configuration:
      return "configuration";
    case ErrorKind::duplicate_id:
      return "duplicate id";
    case ErrorKind::internal:
      return "internal";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, ErrorKind kind) { return out << to_string(kind); }

Error::Error(ErrorKind kind, const std::string& message)
    : std::runtime_error{message}, kind_{kind} {}

bool Error::in_doubt() const noexcept {
  return kind_ == ErrorKind::timeout || kind_ == ErrorKind::in_doubt;
}

bool Error::is_transient() const noexcept { return kind_ == ErrorKind::unavailable || in_doubt(); }

Error duplicate_id_error(std::string_view contender_id) {
  return Error{ErrorKind::duplicate_id, "contender id [" + std::string{contender_id} +
                                            "] is also used by another process; give each process "
                                            "its own id, or omit it to use the unique default"};
}

TimeoutError::TimeoutError(const std::string& message) : Error{ErrorKind::timeout, message} {}

IllegalStateError::IllegalStateError(const std::string& message)
    : Error{ErrorKind::illegal_state, message} {}

InvalidArgumentError::InvalidArgumentError(const std::string& message)
    : Error{ErrorKind::invalid_argument, message} {}

}  // namespace simba
