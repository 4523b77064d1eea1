#include "cli/exit_codes.hpp"

namespace simba::cli {

ExitCode exit_code_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::unavailable:
    case ErrorKind::timeout:
    case ErrorKind::in_doubt:
      return ExitCode::unavailable;
    case ErrorKind::authentication:
    case ErrorKind::permission:
      return ExitCode::refused;
    case ErrorKind::invalid_argument:
      return ExitCode::usage;
    case ErrorKind::configuration:
    case ErrorKind::duplicate_id:
    case ErrorKind::unsupported:
      return ExitCode::configuration;
    case ErrorKind::illegal_state:
    case ErrorKind::internal:
      break;
  }
  return ExitCode::internal;
}

}  // namespace simba::cli
