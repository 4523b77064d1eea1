#include "simba/redis/redis_factory.hpp"

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "redis/routing/script_request.hpp"
#include "redis/session.hpp"
#include "redis/settings.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/engine/lease_service_factory.hpp"

namespace simba::redis {
namespace {

using engine::AnswerHandler;
using engine::LeaseRequest;
using engine::NoticeHandler;
using Kind = ScriptRequest::Kind;

/// The name of a mutex is between braces, which a cluster looks for to find the slot of a key.
void check_slot(std::string_view mutex) {
  if (mutex.starts_with('}')) {
    throw InvalidArgumentError{
        "on a Redis cluster a mutex name must not begin with '}', because its keys would be in "
        "different slots; choose another name"};
  }
}

void check_messages(std::string_view contender_id) {
  if (contender_id.find("@@") != std::string_view::npos) {
    throw InvalidArgumentError{
        "on Redis a contender id must not contain '@@', which separates the fields of messages; "
        "choose another id"};
  }
}

/// Threads: see LeaseStore. Requests are answered on the session's thread, or inside the call.
class RedisStore final : public engine::LeaseStore,
                         public std::enable_shared_from_this<RedisStore> {
 public:
  RedisStore(RedisOptions options, std::shared_ptr<const ConnectionSettings> settings,
             std::shared_ptr<const Runtime> runtime)
      : options_{std::move(options)},
        settings_{std::move(settings)},
        runtime_{std::move(runtime)} {}

  RedisStore(const RedisStore&) = delete;
  RedisStore& operator=(const RedisStore&) = delete;
  ~RedisStore() override {
    if (session_ && fork_guard_.in_child()) detail::leak(session_);
  }

  NameLimits name_limits() const noexcept override { return {}; }

  void check_names(std::string_view mutex, std::string_view contender_id) const override {
    if (options_.topology == Topology::cluster) check_slot(mutex);
    check_messages(contender_id);
  }

  std::shared_ptr<void> attach() override {
    const std::lock_guard lock{mutex_};
    if (users_ == 0) session_ = std::make_shared<Session>(options_, settings_, runtime_);
    ++users_;
    return {this, [self = shared_from_this()](void*) { self->detach(); }};
  }

  void acquire(const LeaseRequest& request, AnswerHandler handler) override {
    send(Kind::acquire, request, 0, std::move(handler));
  }

  void guard(const LeaseRequest& request, AnswerHandler handler) override {
    send(Kind::guard, request, 0, std::move(handler));
  }

  void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) override {
    send(Kind::release, request, token, std::move(handler));
  }

  void retrieve(const LeaseRequest& request, AnswerHandler handler) override {
    send(Kind::retrieve, request, 0, std::move(handler));
  }

  std::unique_ptr<engine::Watch> watch(const LeaseRequest& request,
                                       NoticeHandler handler) override {
    check(request);
    const auto session = current();
    if (!session) throw Error{ErrorKind::unavailable, unusable()};
    return session->watch(request, std::move(handler));
  }

 private:
  void send(Kind kind, const LeaseRequest& request, FencingToken token, AnswerHandler handler) {
    try {
      check(request);
      if (kind != Kind::retrieve) check_not_blank("contender id", request.contender_id);
    } catch (const Error& error) {
      handler(error);
      return;
    }
    const auto session = current();
    if (!session) {
      handler(Error{ErrorKind::unavailable, unusable()});
      return;
    }
    std::make_shared<ScriptRequest>(session->context(), kind, request, token, std::move(handler))
        ->send();
  }

  void check(const LeaseRequest& request) const {
    check_name("mutex name", request.mutex, name_limits().mutex);
    if (!request.contender_id.empty()) {
      check_name("contender id", request.contender_id, name_limits().contender_id);
    }
    check_names(request.mutex, request.contender_id);
  }

  /// Empty while nobody is attached, and in a forked child.
  std::shared_ptr<Session> current() {
    if (fork_guard_.in_child()) return nullptr;
    const std::lock_guard lock{mutex_};
    return session_;
  }

  std::string unusable() const {
    return fork_guard_.in_child()
               ? "this Redis store belongs to the parent process; create a new one after fork()"
               : "the Redis store is closed";
  }

  void detach() {
    if (fork_guard_.in_child()) return;
    std::shared_ptr<Session> session;
    {
      const std::lock_guard lock{mutex_};
      if (--users_ == 0) session = std::move(session_);
    }
    if (session) session->close();
  }

  // constant after construction
  const RedisOptions options_;
  const std::shared_ptr<const ConnectionSettings> settings_;
  const std::shared_ptr<const Runtime> runtime_;
  const ForkGuard fork_guard_;

  std::mutex mutex_;
  // guarded by mutex_
  std::shared_ptr<Session> session_;
  std::size_t users_ = 0;
};

}  // namespace

std::unique_ptr<MutexServiceFactory> make_redis_factory(RedisOptions options) {
  if (!options.runtime) options.runtime = make_runtime();
  const auto runtime = options.runtime;
  return std::make_unique<engine::LeaseServiceFactory>(make_redis_store(options, runtime), runtime,
                                                       options.contention);
}

std::shared_ptr<engine::LeaseStore> make_redis_store(const RedisOptions& options,
                                                     std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a Redis store needs a runtime"};
  auto settings = checked_settings(options);
  RedisOptions checked = options;
  checked.connect_timeout = settings->connect_timeout;
  return std::make_shared<RedisStore>(std::move(checked), std::move(settings), std::move(runtime));
}

}  // namespace simba::redis
