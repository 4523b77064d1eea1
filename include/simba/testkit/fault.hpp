#pragma once

#include "simba/core/error.hpp"

namespace simba::testkit {

/// What happens to a request. Created by the functions below.
class Fault {
 public:
  enum class Kind { fail, swallow, lose_answer, hold_answer, hold_request };

  /// Not executed; answered with `error`.
  static Fault fail(Error error);
  static Fault fail();  ///< with ErrorKind::unavailable

  /// Not executed and not answered: a black hole. Answered with "in doubt" by `mend` or `close`.
  static Fault swallow();

  /// Executed, but answered with `error` instead of the real answer.
  static Fault lose_answer(Error error);
  static Fault lose_answer();  ///< with ErrorKind::in_doubt

  /// Executed, but the answer is held until `release_answers`.
  static Fault hold_answer();

  /// Held until `release_requests`, and executed only then.
  static Fault hold_request();

  Kind kind() const noexcept { return kind_; }
  const Error& error() const noexcept { return error_; }

 private:
  Fault(Kind kind, Error error);

  Kind kind_;
  Error error_;
};

}  // namespace simba::testkit
