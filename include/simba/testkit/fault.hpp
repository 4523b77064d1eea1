#pragma once

#include "simba/core/error.hpp"

namespace simba::testkit {

/// What befalls one request. Made by the functions below.
class Fault {
 public:
  enum class Kind { fail, swallow, lose_answer, hold_answer, hold_request };

  /// Not carried out; answered with `error`.
  static Fault fail(Error error);
  static Fault fail();  ///< with ErrorKind::unavailable

  /// Not carried out, and no answer: a black hole. Answered "in doubt" by `mend` or `close`.
  static Fault swallow();

  /// Carried out, but the answer is `error` instead of the real one.
  static Fault lose_answer(Error error);
  static Fault lose_answer();  ///< with ErrorKind::in_doubt

  /// Carried out, and the answer waits for `release_answers`.
  static Fault hold_answer();

  /// Waits for `release_requests` and is carried out only then.
  static Fault hold_request();

  Kind kind() const noexcept { return kind_; }
  const Error& error() const noexcept { return error_; }

 private:
  Fault(Kind kind, Error error);

  Kind kind_;
  Error error_;
};

}  // namespace simba::testkit
