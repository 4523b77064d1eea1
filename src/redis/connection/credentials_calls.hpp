#pragma once

#include <functional>
#include <memory>

#include "core/threads/on_demand_thread.hpp"
#include "simba/core/credentials.hpp"
#include "simba/core/log.hpp"

namespace simba::redis {

/// The calls of the credentials callback of one store. It may block for long, or hang, so it has a
/// thread of its own, with at most one call under way: who asks meanwhile is given its result.
/// Credentials that nobody waits for any more are kept for whoever asks next, for a minute: a
/// callback slower than the connect timeout delays connections, but does not prevent them. An
/// exception is not kept.
///
/// Threads: every function may be called from any thread.
/// Lifetime: the destructor waits for a call under way for a second at most.
class CredentialsCalls {
 public:
  /// Given what returns the result of the call, or throws what it threw.
  using Handler = std::function<void(const CredentialsSource& result)>;

  CredentialsCalls(CredentialsSource source, std::shared_ptr<Logger> log);
  ~CredentialsCalls();
  CredentialsCalls(const CredentialsCalls&) = delete;
  CredentialsCalls& operator=(const CredentialsCalls&) = delete;

  /// The handler is called at most once, on the thread of the calls or within this one, while the
  /// caller keeps what this returns. Throws std::system_error if no thread can be started.
  [[nodiscard]] std::shared_ptr<const Handler> ask(Handler handler);

 private:
  struct Shared;

  const std::shared_ptr<Shared> shared_;
  detail::OnDemandThread thread_;
};

}  // namespace simba::redis
