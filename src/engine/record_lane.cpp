#include "engine/record_lane.hpp"

#include <atomic>
#include <exception>
#include <utility>

#include "simba/core/error.hpp"

namespace simba::engine {
namespace {

Error not_sent() {
  return {ErrorKind::unavailable, "the factory of these records is gone; the request was not sent"};
}

}  // namespace

void RecordLane::send(Request request, RecordHandler handler) {
  Lock lock{mutex_};
  if (closed_) {
    lock.unlock();
    handler(not_sent());
    return;
  }
  waiting_.push_back({std::move(request), std::move(handler)});
  pass_on(std::move(lock));
}

void RecordLane::close() {
  std::deque<Waiting> waiting;
  {
    const Lock lock{mutex_};
    closed_ = true;
    waiting.swap(waiting_);
  }
  for (const Waiting& one : waiting) one.handler(not_sent());
}

void RecordLane::leave() {
  Lock lock{mutex_};
  --under_way_;
  pass_on(std::move(lock));
}

void RecordLane::pass_on(Lock lock) {
  if (passing_on_) return;
  passing_on_ = true;
  const auto self = shared_from_this();  // an answer inside a request may drop the last holder
  while (!waiting_.empty() && under_way_ < most_under_way_) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    ++under_way_;
    lock.unlock();
    const auto once = std::make_shared<std::atomic_flag>();
    const RecordHandler answered = [self, once, handler = next.handler](RecordResult result) {
      if (once->test_and_set()) return;  // the request has thrown after its answer
      self->leave();
      handler(std::move(result));
    };
    try {
      next.request(answered);
    } catch (const std::exception& error) {
      answered(Error{ErrorKind::in_doubt, error.what()});
    } catch (...) {
      answered(Error{ErrorKind::in_doubt, "the store threw an unknown exception"});
    }
    lock.lock();
  }
  passing_on_ = false;
  lock.unlock();  // before `self` goes
}

}  // namespace simba::engine
