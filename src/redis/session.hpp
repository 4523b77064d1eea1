#pragma once

#include <functional>
#include <memory>

#include "redis/connection/connection.hpp"
#include "redis/connection/dialer.hpp"
#include "redis/routing/master_finder.hpp"
#include "redis/routing/router.hpp"
#include "redis/routing/script_request.hpp"
#include "redis/routing/sentinel_watch.hpp"
#include "redis/waiting/routed_watches.hpp"
#include "simba/core/runtime.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// Where the connections of a session live: on a thread, or in a simulated network.
struct SessionIo {
  std::function<void(std::function<void()>)> post;  ///< runs it on the connections' thread
  OpenConnection open;
  std::function<void()> stop;  ///< ends the thread, after the last connection was closed
};

/// A thread of its own. Throws std::system_error if the system gives none.
SessionIo make_session_io(const Runtime& runtime);

/// The thread and the connections of a store, from the first user to the last.
///
/// Threads: every function may be called from any thread.
class Session {
 public:
  Session(const RedisOptions& options, std::shared_ptr<const ConnectionSettings> settings,
          const std::shared_ptr<const Runtime>& runtime, SessionIo io);
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::shared_ptr<const RequestContext>& context() const noexcept { return context_; }

  /// As `LeaseStore::watch`.
  std::unique_ptr<engine::Watch> watch(const engine::LeaseRequest& request,
                                       engine::NoticeHandler handler);

  /// Ends all connections, which answers what is under way, then the thread.
  void close();

 private:
  std::shared_ptr<Router> make_router(const RedisOptions& options,
                                      std::shared_ptr<const ConnectionSettings> settings,
                                      const std::shared_ptr<const Runtime>& runtime);

  void follow_master(const RedisOptions& options, const Dialer& dialer,
                     const std::shared_ptr<Node>& node);

  const SessionIo io_;
  const std::shared_ptr<RoutedWatches> watches_;
  std::shared_ptr<MasterFinder> finder_;  // with sentinels; touched on the connections' thread only
  std::shared_ptr<SentinelWatch> sentinels_;
  std::shared_ptr<const RequestContext> context_;
};

}  // namespace simba::redis
