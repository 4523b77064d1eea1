#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/exit_codes.hpp"
#include "simba/core/error.hpp"

namespace simba::cli {

/// Ends the command with a code and a message that is shown as it is.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error{message}, code_{code} {}

  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// A wrong command line.
class UsageError : public Failure {
 public:
  explicit UsageError(const std::string& message) : Failure{ExitCode::usage, message} {}
};

/// What to do where the store cannot be reached.
inline constexpr std::string_view unavailable_advice =
    "is the store running, and is its address correct? \"simba doctor\" shows more";

/// The error in words, and what to do about it where we know.
std::string explain(const Error& error);

/// The same as something to throw.
Failure to_failure(const Error& error);

}  // namespace simba::cli
