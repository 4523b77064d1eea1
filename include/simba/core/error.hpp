#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>

namespace simba {

/// The category of an error, which decides how to react to it.
enum class ErrorKind {
  unavailable,     ///< the store cannot be reached or cannot serve requests now; retrying may help
  timeout,         ///< no answer in time; the request may or may not have been executed
  in_doubt,        ///< the connection was lost after sending; the outcome is unknown
  authentication,  ///< the store rejected the credentials
  permission,      ///< the user lacks a permission
  invalid_argument,  ///< an argument is out of bounds
  illegal_state,     ///< the call is not allowed in the current state of the object
  unsupported,       ///< not supported by this store, server or build
  configuration,     ///< a setting is wrong or missing
  duplicate_id,      ///< another process uses the same contender id
  internal,          ///< a bug in Simba, or a store that violated its contract
};

/// The name of a kind as it appears in messages, e.g. "unavailable".
std::string_view to_string(ErrorKind kind) noexcept;
std::ostream& operator<<(std::ostream& out, ErrorKind kind);

/// The base of every error that Simba throws or reports. "Held by another" is never an error.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message);

  ErrorKind kind() const noexcept { return kind_; }

  /// True if the request may have been executed although no answer arrived.
  bool in_doubt() const noexcept;

  /// True if the same request may succeed later without anyone changing a setting.
  bool is_transient() const noexcept;

 private:
  ErrorKind kind_;
};

/// An error of kind `duplicate_id` that also says what to do about it.
Error duplicate_id_error(std::string_view contender_id);

/// The mutex was not acquired within the given time.
class TimeoutError : public Error {
 public:
  explicit TimeoutError(const std::string& message);
};

/// A call that is not allowed in the current state, e.g. `start()` of a running service.
class IllegalStateError : public Error {
 public:
  explicit IllegalStateError(const std::string& message);
};

/// An argument is out of bounds. The message contains the value and its bounds.
class InvalidArgumentError : public Error {
 public:
  explicit InvalidArgumentError(const std::string& message);
};

}  // namespace simba
