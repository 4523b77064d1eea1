#pragma once

#include <functional>
#include <string>

#include "simba/core/secret.hpp"

namespace simba {

/// Who logs in, and with what.
struct Credentials {
  std::string user{};  ///< empty: the user of the store's options
  Secret password{};
};

/// Returns the credentials for one new connection, so that passwords may be short-lived. Called
/// again for each connection; one that exists is not affected by what it returns later. The
/// `password` of the store's options is then not used.
///
/// Threads: runs on threads of the store, never on those of callbacks or timers. A SQL store may
/// call it from several threads at the same time. A Redis store makes one call at a time:
/// connections opened during a call all use its result. It may block: that counts towards the
/// connect timeout, and holds up new connections of this store only. But as long as the store has
/// no connection, nobody can acquire or renew. So do not wait in it for a mutex of the same store,
/// and keep what is slow to get until it expires. On Redis, a result that comes after the connect
/// timeout is used by the next connection.
/// Lifetime: a call that is under way when the factory is destroyed is waited for only briefly.
/// What it uses must live until it returns: capture by value or `std::shared_ptr`.
/// Errors: NUL characters are refused. If it throws, the attempt fails with an Error of kind
/// `unavailable`, or of the kind of the Error that it threw, and is repeated later. The text of the
/// exception is neither logged nor shown, since it may contain what must not be seen.
using CredentialsSource = std::function<Credentials()>;

}  // namespace simba
