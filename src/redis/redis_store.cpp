#include "redis/redis_store.hpp"

#include <utility>

namespace simba::redis {

using engine::AnswerHandler;
using engine::LeaseRequest;
using engine::NoticeHandler;
using Kind = ScriptRequest::Kind;

namespace {

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
  if (contender_id.ends_with('@')) {
    throw InvalidArgumentError{
        "on Redis a contender id must not end in '@', which messages could not tell from their "
        "separator; choose another id"};
  }
}

}  // namespace

RedisStore::RedisStore(RedisOptions options, std::shared_ptr<const ConnectionSettings> settings,
                       std::shared_ptr<const Runtime> runtime, std::function<SessionIo()> make_io)
    : options_{std::move(options)},
      settings_{std::move(settings)},
      runtime_{std::move(runtime)},
      make_io_{std::move(make_io)} {}

RedisStore::~RedisStore() {
  if (session_ && fork_guard_.in_child()) detail::leak(session_);
}

void RedisStore::check_names(std::string_view mutex, std::string_view contender_id) const {
  if (options_.topology == Topology::cluster) check_slot(mutex);
  check_messages(contender_id);
}

std::shared_ptr<void> RedisStore::attach() {
  const std::lock_guard lock{mutex_};
  if (users_ == 0) session_ = std::make_shared<Session>(options_, settings_, runtime_, make_io_());
  ++users_;
  return {this, [self = shared_from_this()](void*) { self->detach(); }};
}

void RedisStore::detach() {
  if (fork_guard_.in_child()) return;
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock{mutex_};
    if (--users_ == 0) session = std::move(session_);
  }
  if (session) session->close();
}

void RedisStore::acquire(const LeaseRequest& request, AnswerHandler handler) {
  send(Kind::acquire, request, 0, std::move(handler));
}

void RedisStore::guard(const LeaseRequest& request, AnswerHandler handler) {
  send(Kind::guard, request, 0, std::move(handler));
}

void RedisStore::release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) {
  send(Kind::release, request, token, std::move(handler));
}

void RedisStore::retrieve(const LeaseRequest& request, AnswerHandler handler) {
  send(Kind::retrieve, request, 0, std::move(handler));
}

std::unique_ptr<engine::Watch> RedisStore::watch(const LeaseRequest& request,
                                                 NoticeHandler handler) {
  check(request);
  const auto session = current();
  if (!session) throw Error{ErrorKind::unavailable, unusable()};
  return session->watch(request, std::move(handler));
}

void RedisStore::send(Kind kind, const LeaseRequest& request, FencingToken token,
                      AnswerHandler handler) {
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

void RedisStore::check(const LeaseRequest& request) const {
  check_name("mutex name", request.mutex, name_limits().mutex);
  if (!request.contender_id.empty()) {
    check_name("contender id", request.contender_id, name_limits().contender_id);
  }
  check_names(request.mutex, request.contender_id);
}

/// Empty while nobody is attached, and in a forked child.
std::shared_ptr<Session> RedisStore::current() {
  if (fork_guard_.in_child()) return nullptr;
  const std::lock_guard lock{mutex_};
  return session_;
}

std::string RedisStore::unusable() const {
  return fork_guard_.in_child()
             ? "this Redis store belongs to the parent process; create a new one after fork()"
             : "the Redis store is closed";
}

}  // namespace simba::redis
