#include "cli/errors.hpp"

#include <string_view>

namespace simba::cli {
namespace {

std::string_view advice(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::unavailable:
    case ErrorKind::timeout:
    case ErrorKind::in_doubt:
      return unavailable_advice;
    case ErrorKind::authentication:
      return "check the store's user and password";
    case ErrorKind::permission:
      return "grant the user the privileges that \"simba doctor\" lists";
    case ErrorKind::internal:
      return "unexpected reply: is this the right kind of server? If so, please report a bug with "
             "the output of -vv";
    case ErrorKind::invalid_argument:
    case ErrorKind::illegal_state:
    case ErrorKind::unsupported:
    case ErrorKind::configuration:
    case ErrorKind::duplicate_id:  // says it itself
      break;
  }
  return {};
}

}  // namespace

std::string explain(const Error& error) {
  std::string text = error.what();
  // What follows a semicolon already says what to do, and more precisely.
  const bool may_say_it =
      error.kind() == ErrorKind::permission || error.kind() == ErrorKind::internal;
  const bool says_it = may_say_it && text.find("; ") != std::string::npos;
  if (const auto hint = advice(error.kind()); !hint.empty() && !says_it) {
    text += "\n  ";
    text += hint;
  }
  return text;
}

Failure to_failure(const Error& error) {
  return Failure{exit_code_of(error.kind()), explain(error)};
}

}  // namespace simba::cli
