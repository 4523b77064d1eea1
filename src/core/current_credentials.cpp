#include "core/current_credentials.hpp"

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::detail {

namespace {

/// Nothing of the exception but its kind: its text may have a secret in it.
Credentials asked(const CredentialsSource& source, std::string_view where) {
  ErrorKind kind = ErrorKind::unavailable;
  try {
    return source();
  } catch (const Error& error) {
    kind = error.kind();
  } catch (...) {
  }
  throw Error{
      kind, fmt::format("cannot connect to {}: the credentials callback threw an exception, whose "
                        "text is not shown because it may contain a secret; log it in the "
                        "callback",
                        where)};
}

}  // namespace

Credentials current_credentials(const CredentialsSource& source, const std::string& user,
                                std::string_view where) {
  Credentials credentials = asked(source, where);
  if (credentials.user.empty()) credentials.user = user;
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (has_nul(credentials.user) || has_nul(credentials.password.reveal())) {
    throw Error{ErrorKind::configuration,
                fmt::format("cannot connect to {}: the credentials callback returned a user or "
                            "password with a NUL character",
                            where)};
  }
  return credentials;
}

}  // namespace simba::detail
