#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace simba {

/// What went wrong, in the terms that decide what to do about it.
enum class ErrorKind {
  unavailable,       ///< the store cannot be reached or cannot serve now; trying again may help
  timeout,           ///< no answer in time; a request may or may not have been carried out
  in_doubt,          ///< the connection broke after sending; the outcome is unknown
  authentication,    ///< the store refuses who we are
  permission,        ///< the store refuses what we ask
  invalid_argument,  ///< a value given by the caller is out of its bounds
  illegal_state,     ///< the call does not fit the present state of the object
  unsupported,       ///< this store, server or build cannot do it
  configuration,     ///< a setting is wrong or missing
  duplicate_id,      ///< another process uses the same contender id
  internal,          ///< a fault of ours, or a store that broke its contract
};

/// The name of a kind as it appears in messages, e.g. "unavailable".
std::string_view to_string(ErrorKind kind) noexcept;

/// The base of every error that Simba throws or reports. "Held by another" is never an error.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message);

  ErrorKind kind() const noexcept { return kind_; }

  /// True where the request may have been carried out although no answer came.
  bool in_doubt() const noexcept;

  /// True where the same request may succeed later without anyone changing a setting.
  bool is_transient() const noexcept;

 private:
  ErrorKind kind_;
};

/// Of kind `duplicate_id`, with what to do about it.
Error duplicate_id_error(std::string_view contender_id);

/// The mutex was not acquired in the time given.
class TimeoutError : public Error {
 public:
  explicit TimeoutError(const std::string& message);
};

/// A call that does not fit the present state, e.g. `start()` of a running service.
class IllegalStateError : public Error {
 public:
  explicit IllegalStateError(const std::string& message);
};

/// A value outside its bounds. The message names the value and the bound.
class InvalidArgumentError : public Error {
 public:
  explicit InvalidArgumentError(const std::string& message);
};

}  // namespace simba
