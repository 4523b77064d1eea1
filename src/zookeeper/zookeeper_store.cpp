#include "zookeeper/zookeeper_store.hpp"

#include <utility>

#include <fmt/format.h>

#include "zookeeper/queue/mutex_queues.hpp"
#include "zookeeper/queue/node_names.hpp"

namespace simba::zookeeper {

using engine::AnswerHandler;
using engine::LeaseRequest;
using engine::NoticeHandler;

ZooKeeperStore::ZooKeeperStore(Settings settings, std::shared_ptr<Connector> connector,
                               std::shared_ptr<const Runtime> runtime)
    : settings_{std::make_shared<const Settings>(std::move(settings))},
      connector_{std::move(connector)},
      runtime_{std::move(runtime)} {}

void ZooKeeperStore::check_names(std::string_view mutex, std::string_view /*contender_id*/) const {
  check_node_name("mutex name", mutex);
  if (mutex == records_name) {
    throw InvalidArgumentError{fmt::format(
        "on ZooKeeper the mutex name '{}' is reserved for Simba's records; choose another name",
        mutex)};
  }
  if (settings_->root.empty() && mutex == "zookeeper") {
    throw InvalidArgumentError{
        "the node /zookeeper is reserved by ZooKeeper; choose another mutex name or set a base "
        "path"};
  }
}

// The servers end a session that they have not heard of, once in a tick. A watch is lost only with
// the connection; a waiter looks again when it is back, and once in a session timeout.
WorstCases ZooKeeperStore::worst_cases(const ContentionPlan& plan) const {
  WorstCases worst = simba::worst_cases(plan);
  const auto session = settings_->session_timeout;
  worst.take_over = session + tick_of(*settings_, session) + plan.request_timeout;
  worst.hand_over_without_notice = session + plan.request_timeout;
  return worst;
}

std::shared_ptr<void> ZooKeeperStore::attach() {
  return queues_.attach(shared_from_this(), [this] {
    return std::make_shared<MutexQueues>(settings_, connector_, runtime_);
  });
}

void ZooKeeperStore::acquire(const LeaseRequest& request, AnswerHandler handler) {
  serve(request, std::move(handler),
        [&](MutexQueues& queues, AnswerHandler next) { queues.acquire(request, std::move(next)); });
}

void ZooKeeperStore::guard(const LeaseRequest& request, AnswerHandler handler) {
  serve(request, std::move(handler),
        [&](MutexQueues& queues, AnswerHandler next) { queues.guard(request, std::move(next)); });
}

void ZooKeeperStore::release(const LeaseRequest& request, FencingToken token,
                             AnswerHandler handler) {
  serve(request, std::move(handler), [&](MutexQueues& queues, AnswerHandler next) {
    queues.release(request, token, std::move(next));
  });
}

void ZooKeeperStore::retrieve(const LeaseRequest& request, AnswerHandler handler) {
  serve(
      {.mutex = request.mutex, .contender_id = {}}, std::move(handler),
      [&](MutexQueues& queues, AnswerHandler next) { queues.retrieve(request, std::move(next)); });
}

std::unique_ptr<engine::Watch> ZooKeeperStore::watch(const LeaseRequest& request,
                                                     NoticeHandler handler) {
  return checked(request)->watch(request, std::move(handler));
}

void ZooKeeperStore::read(const std::string& mutex, RecordHandler handler) {
  serve({.mutex = mutex, .contender_id = {}}, std::move(handler),
        [&](MutexQueues& queues, RecordHandler next) { queues.read(mutex, std::move(next)); });
}

void ZooKeeperStore::write(const RecordWrite& write, RecordHandler handler) {
  serve({.mutex = write.mutex,
         .contender_id = write.owner ? write.owner->contender_id : std::string{}},
        std::move(handler),
        [&](MutexQueues& queues, RecordHandler next) { queues.write(write, std::move(next)); });
}

template <class Handler, class Function>
void ZooKeeperStore::serve(const LeaseRequest& request, Handler handler, const Function& function) {
  std::shared_ptr<MutexQueues> queues;
  try {
    queues = checked(request);
  } catch (const Error& error) {
    handler(error);
    return;
  }
  function(*queues, std::move(handler));
}

std::shared_ptr<MutexQueues> ZooKeeperStore::checked(const LeaseRequest& request) const {
  check_name("mutex name", request.mutex, name_limits().mutex);
  if (!request.contender_id.empty()) {
    check_name("contender id", request.contender_id, name_limits().contender_id);
  }
  check_names(request.mutex, request.contender_id);
  return queues_.get();
}

}  // namespace simba::zookeeper
