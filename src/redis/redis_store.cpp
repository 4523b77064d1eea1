#include "redis/redis_store.hpp"

#include <utility>

#include "redis/routing/record_request.hpp"

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
        "a contender id must not contain '@@' on Redis: it separates fields in messages; choose "
        "another id"};
  }
  if (contender_id.ends_with('@')) {
    throw InvalidArgumentError{
        "a contender id must not end in '@' on Redis: '@@' separates fields in messages; choose "
        "another id"};
  }
}

}  // namespace

RedisStore::RedisStore(RedisOptions options, std::shared_ptr<const ConnectionSettings> settings,
                       std::shared_ptr<const Runtime> runtime, std::function<SessionIo()> make_io)
    : options_{std::move(options)},
      settings_{std::move(settings)},
      runtime_{std::move(runtime)},
      make_io_{std::move(make_io)} {}

void RedisStore::check_names(std::string_view mutex, std::string_view contender_id) const {
  if (options_.topology == Topology::cluster) check_slot(mutex);
  check_messages(contender_id);
}

std::shared_ptr<void> RedisStore::attach() {
  return session_.attach(shared_from_this(), [this] {
    return std::make_shared<Session>(options_, settings_, runtime_, make_io_());
  });
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
  return session_.get()->watch(request, std::move(handler));
}

void RedisStore::read(const std::string& mutex, RecordHandler handler) {
  std::shared_ptr<Session> session;
  try {
    check({.mutex = mutex, .contender_id = {}});
    session = session_.get();
  } catch (const Error& error) {
    handler(error);
    return;
  }
  std::make_shared<RecordRequest>(session->context(), mutex, std::move(handler))->send();
}

void RedisStore::write(const RecordWrite& write, RecordHandler handler) {
  std::shared_ptr<Session> session;
  try {
    check({.mutex = write.mutex,
           .contender_id = write.owner ? write.owner->contender_id : std::string{}});
    if (write.owner) check_not_blank("contender id", write.owner->contender_id);
    session = session_.get();
  } catch (const Error& error) {
    handler(error);
    return;
  }
  std::make_shared<RecordRequest>(session->context(), write, std::move(handler))->send();
}

void RedisStore::send(Kind kind, const LeaseRequest& request, FencingToken token,
                      AnswerHandler handler) {
  std::shared_ptr<Session> session;
  try {
    check(request);
    if (kind != Kind::retrieve) check_not_blank("contender id", request.contender_id);
    session = session_.get();
  } catch (const Error& error) {
    handler(error);
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

}  // namespace simba::redis
