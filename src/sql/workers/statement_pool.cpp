#include "sql/workers/statement_pool.hpp"

#include <utility>

#include "simba/core/error.hpp"
#include "sql/workers/statement_workers.hpp"

namespace simba::sql {
namespace {

using Kind = Request::Kind;

Kind kind_of(Change change) {
  switch (change) {
    case Change::acquire:
      return Kind::acquire;
    case Change::guard:
      return Kind::guard;
    case Change::release:
      break;
  }
  return Kind::release;
}

}  // namespace

StatementPool::StatementPool(std::shared_ptr<Database> database, const SqlPlan& plan,
                             std::shared_ptr<Logger> log)
    : database_{std::move(database)}, plan_{plan}, log_{std::move(log)} {
  open();
}

StatementPool::~StatementPool() {
  if (fork_guard_.in_child()) {
    detail::leak(workers_);  // its connections are the parent's
  } else {
    close();
  }
}

void StatementPool::open() {
  if (fork_guard_.in_child()) return;
  const std::lock_guard lock{mutex_};
  if (!workers_) workers_ = std::make_shared<StatementWorkers>(database_, plan_, log_);
}

std::function<void()> StatementPool::begin_close() {
  if (fork_guard_.in_child()) return [] {};
  const std::lock_guard lock{mutex_};
  return [closing = std::exchange(workers_, nullptr)] {
    if (closing) closing->close();
  };
}

std::shared_ptr<StatementWorkers> StatementPool::workers() const {
  const std::lock_guard lock{mutex_};
  return workers_;
}

void StatementPool::submit(Request request) {
  if (fork_guard_.in_child()) {
    fail(request,
         Error{ErrorKind::illegal_state,
               "a forked child cannot use the connections of its parent; create a new factory "
               "after fork()"});
  } else if (const auto open = workers()) {
    open->submit(std::move(request));
  } else {
    fail(request, Error{ErrorKind::unavailable, "the store is closed"});
  }
}

void StatementPool::change(Change change, Ask ask, RowHandler handler) {
  submit({.kind = kind_of(change), .ask = std::move(ask), .handler = std::move(handler)});
}

void StatementPool::look(std::string mutex, std::string contender_id, RowHandler handler) {
  submit({.kind = Kind::look,
          .ask = {.mutex = std::move(mutex), .contender_id = std::move(contender_id)},
          .handler = std::move(handler)});
}

void StatementPool::look(MutexNames mutexes, RowsHandler handler) {
  submit({.kind = Kind::look_at_many,
          .ask = {},
          .names = std::move(mutexes),
          .handler = std::move(handler)});
}

void StatementPool::init(std::string mutex, InitHandler handler) {
  submit({.kind = Kind::init,
          .ask = {.mutex = std::move(mutex), .contender_id = {}},
          .handler = std::move(handler)});
}

}  // namespace simba::sql
