#include "sql/workers/statement_pool.hpp"

#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>

#include <fmt/format.h>

namespace simba::sql {
namespace {

using std::chrono::milliseconds;
using Kind = Request::Kind;

/// How long the destructor waits for its threads.
constexpr milliseconds patience_with_threads{1'000};

/// How long a thread looks for more work before it sleeps.
constexpr std::chrono::microseconds linger{50};

/// How long reads of records wait for others of the same moment: until none has come for a while.
constexpr milliseconds gathering_pause{1};
constexpr milliseconds longest_gathering{20};

void hand_over(const Request& request, const Row* row) {
  const auto& handler = std::get<RowHandler>(request.handler);
  if (row == nullptr) {
    handler(std::optional<Row>{});
  } else if (row->problem) {
    handler(*row->problem);
  } else {
    handler(std::optional<Row>{*row});
  }
}

void hand_over_records(const std::vector<Request>& requests, const StatementAnswer& answer) {
  const auto handler = [](const Request& request) -> const RecordHandler& {
    return std::get<RecordHandler>(request.handler);
  };
  if (const auto* written = std::get_if<RecordAnswer>(&answer)) {
    handler(requests.front())(*written);
    return;
  }
  std::unordered_map<std::string_view, const MutexRecord*> by_name;
  for (const auto& [mutex, record] : std::get<std::vector<FoundRecord>>(answer)) {
    by_name.emplace(mutex, &record);
  }
  for (const Request& request : requests) {
    const auto found = by_name.find(request.ask.mutex);
    if (found == by_name.end()) {
      handler(request)(Error{ErrorKind::internal, "no reply for the record of the mutex"});
    } else {
      handler(request)(RecordAnswer{RecordAnswer::Outcome::found, *found->second});
    }
  }
}

/// Hands each request its part of the answer.
void answer(const std::vector<Request>& requests, const StatementAnswer& answer) {
  const Request& first = requests.front();
  if (const auto* init = std::get_if<InitHandler>(&first.handler)) {
    (*init)(std::get<bool>(answer));
    return;
  }
  if (std::holds_alternative<RecordHandler>(first.handler)) {
    hand_over_records(requests, answer);
    return;
  }
  const auto& rows = std::get<std::vector<Row>>(answer);
  if (const auto* all = std::get_if<RowsHandler>(&first.handler)) {
    (*all)(rows);
    return;
  }
  if (requests.size() == 1 && rows.size() == 1 && rows.front().mutex == first.ask.mutex) {
    hand_over(first, &rows.front());
    return;
  }
  std::unordered_map<std::string_view, const Row*> by_name;
  for (const Row& row : rows) by_name.emplace(row.mutex, &row);
  for (const Request& request : requests) {
    const auto found = by_name.find(request.ask.mutex);
    hand_over(request, found == by_name.end() ? nullptr : found->second);
  }
}

void fail(const Request& request, const Error& error) {
  std::visit([&](const auto& handler) { handler(error); }, request.handler);
}

void fail(const std::vector<Request>& requests, const Error& error) {
  for (const Request& request : requests) fail(request, error);
}

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

void StatementPool::read_record(std::string mutex, RecordHandler handler) {
  submit({.kind = Kind::read_record,
          .ask = {.mutex = std::move(mutex), .contender_id = {}},
          .handler = std::move(handler)});
}

void StatementPool::write_record(RecordAsk ask, RecordHandler handler) {
  const auto record = std::make_shared<const RecordAsk>(std::move(ask));
  submit({.kind = Kind::write_record,
          .ask = {.mutex = record->mutex, .contender_id = {}},
          .record = record,
          .handler = std::move(handler)});
}

void StatementPool::submit(Request request) {
  if (fork_guard_.in_child()) {
    fail(request,
         Error{ErrorKind::illegal_state,
               "a forked child cannot use the connections of its parent; create a new factory "
               "after fork()"});
    return;
  }
  request.not_after = real_now() + plan_.statement_timeout;
  std::unique_lock lock{mutex_};
  if (closing_) {
    lock.unlock();
    fail(request, Error{ErrorKind::unavailable, "the store is closed"});
    return;
  }
  queue_.push(std::move(request));
  ++news_;
  if (threads_.size() == 0) {
    try {
      start_threads();
    } catch (const std::system_error& error) {
      const auto all = queue_.take_all();
      lock.unlock();
      fail(all, Error{ErrorKind::unavailable, fmt::format("{}: cannot start a thread: {}",
                                                          database_->name(), error.what())});
      return;
    }
  }
  wake_one(lock);
}

/// Unlocks first. One that must connect is woken only where no other can begin at once.
void StatementPool::wake_one(std::unique_lock<std::mutex>& lock) {
  const bool work = idle_ > 0;
  const bool spare = !work && idle_spare_ > 0;
  lock.unlock();
  if (work) work_.notify_one();
  if (spare) spare_.notify_one();
}

/// All at once, so that their number does not depend on the load; each connects when it gets work.
void StatementPool::start_threads() {
  while (threads_.size() < plan_.pool_size) {
    try {
      threads_.start(fmt::format("simba-sql-{}", threads_.size()),
                     [self = shared_from_this()] { self->work(); });
    } catch (const std::system_error&) {
      if (threads_.size() == 0) throw;  // else fewer threads do the same work
      return;
    }
  }
}

void StatementPool::close() {
  if (fork_guard_.in_child()) {
    detail::leak(shared_from_this());  // its connections are the parent's
    return;
  }
  std::vector<Request> left;
  {
    const std::lock_guard lock{mutex_};
    closing_ = true;
    left = queue_.take_all();
  }
  closing_wakeup_.raise();
  work_.notify_all();
  spare_.notify_all();
  fail(left, Error{ErrorKind::unavailable, "the store is closed"});
  // No thread is added any more, so nobody else uses the threads.
  threads_.join_or_let_go(patience_with_threads);
}

void StatementPool::work() {
  std::unique_ptr<Session> session;
  bool lingers = false;
  std::unique_lock lock{mutex_};
  while (!closing_) {
    fail_overdue(lock);
    if (!queue_.empty() && !has_session(lock, session)) {
      connect(lock, session);
      continue;
    }
    gather_reads(lock);
    Batch batch = queue_.take();
    if (batch.requests.empty()) {
      wait_for_work(lock, session != nullptr, std::exchange(lingers, false));
      continue;
    }
    if (queue_.empty()) {
      lock.unlock();
    } else {
      wake_one(lock);  // whoever was woken for the rest may have been this thread
    }
    serve(*session, batch);
    batch = {};  // what its handlers hold goes without the lock
    lock.lock();
    lingers = true;
  }
  lock.unlock();  // before the session goes
  if (session && connections_) connections_->closed();
}

void StatementPool::fail_overdue(std::unique_lock<std::mutex>& lock) {
  auto overdue = queue_.take_overdue(real_now());
  if (overdue.empty()) return;
  lock.unlock();
  fail(overdue, Error{ErrorKind::unavailable,
                      fmt::format("{}: no free connection within {} ms", database_->name(),
                                  plan_.statement_timeout.count())});
  overdue.clear();
  lock.lock();
}

/// Thousands of schedules look at their records at the same moment. Only while nothing else waits;
/// what comes meanwhile is held up for one pause.
void StatementPool::gather_reads(std::unique_lock<std::mutex>& lock) {
  const LocalTime until = real_now() + longest_gathering;
  while (!closing_ && queue_.may_gather_reads() && real_now() < until) {
    const std::uint64_t seen = news_;
    lock.unlock();
    std::this_thread::sleep_for(gathering_pause);
    lock.lock();
    if (news_ == seen) return;
  }
}

/// After work it first looks around for a moment: what has just been answered often leads to the
/// next request, and waking a sleeping thread can take longer than a statement.
void StatementPool::wait_for_work(std::unique_lock<std::mutex>& lock, bool connected,
                                  bool lingers) {
  if (lingers) {
    const std::uint64_t seen = news_;
    lock.unlock();
    const LocalTime until = real_now() + linger;
    while (news_ == seen && real_now() < until) std::this_thread::yield();
    lock.lock();
    if (news_ != seen) return;
  }
  if (closing_) return;  // told while this thread had let go of the lock
  std::size_t& idle = connected ? idle_ : idle_spare_;
  ++idle;
  (connected ? work_ : spare_).wait(lock);
  --idle;
}

// ---- connections ---------------------------------------------------------------------------

/// Whether the thread has a session that works; one that broke while idle is thrown away.
bool StatementPool::has_session(std::unique_lock<std::mutex>& lock,
                                std::unique_ptr<Session>& session) {
  if (!session) return false;
  lock.unlock();
  const bool usable = session->usable();
  if (!usable) session.reset();
  if (!usable && connections_) connections_->closed();
  lock.lock();
  if (!usable) --connected_;
  return usable;
}

/// Connects before any request is taken, so that one that can be served by another connection never
/// waits for this one. Where no thread has a connection, what waits fails.
void StatementPool::connect(std::unique_lock<std::mutex>& lock, std::unique_ptr<Session>& session) {
  std::optional<Error> error = gate_.shut(real_now());
  if (closing_) return;
  if (error && connected_ + connecting_ > 0) {
    ++idle_spare_;
    spare_.wait_for(lock, gate_.opens_at() - real_now());
    --idle_spare_;
    return;
  }
  if (!error) {
    ++connecting_;
    lock.unlock();
    try {
      session = database_->connect(real_now() + plan_.connect_timeout, closing_wakeup_);
    } catch (const Error& problem) {
      // Nothing of what waits was sent, so its outcome is not in doubt.
      error = problem.in_doubt() ? Error{ErrorKind::unavailable, problem.what()} : problem;
    } catch (const std::exception& problem) {
      error = Error{ErrorKind::internal, fmt::format("{}: {}", database_->name(), problem.what())};
    }
    if (connections_) error ? connections_->failed() : connections_->opened();
    lock.lock();
    --connecting_;
    note_attempt(error);
  }
  if (!error) {
    ++connected_;
  } else if (connected_ + connecting_ == 0) {
    auto waiting = queue_.take_all();
    lock.unlock();
    fail(waiting, *error);
    waiting.clear();
    lock.lock();
  }
}

void StatementPool::note_attempt(const std::optional<Error>& error) {
  if (!error) {
    if (gate_.succeeded()) {
      log_->log(LogLevel::info, fmt::format("{}: reachable again", database_->name()));
    }
  } else if (gate_.failed(*error, real_now()) && !closing_) {
    log_->log(LogLevel::info, error->what());  // those that ask are told, and warn of it
  }
}

// ---- statements ----------------------------------------------------------------------------

/// Each request of the batch has its answer when it returns.
void StatementPool::serve(Session& session, const Batch& batch) {
  const LocalTime begun = real_now();
  StatementAnswer rows;
  std::optional<Error> error;
  try {
    rows = carry_out(session, batch.requests);
  } catch (const Error& problem) {
    error = problem;
  } catch (const std::exception& problem) {
    error = Error{ErrorKind::internal, fmt::format("{}: {}", database_->name(), problem.what())};
  }
  if (error) {
    finish(batch, outcome_of(*error, real_now() - begun));
    fail(batch.requests, *error);
    return;
  }
  finish(batch, RequestQueue::Outcome::answered);
  answer(batch.requests, rows);
}

RequestQueue::Outcome StatementPool::outcome_of(const Error& error,
                                                std::chrono::nanoseconds took) const {
  if (error.kind() == ErrorKind::in_doubt) return RequestQueue::Outcome::undecided;
  if (!error.is_transient()) return RequestQueue::Outcome::failed;
  return took >= plan_.statement_timeout / 4 ? RequestQueue::Outcome::stuck
                                             : RequestQueue::Outcome::undecided;
}

void StatementPool::finish(const Batch& batch, RequestQueue::Outcome outcome) {
  {
    const std::lock_guard lock{mutex_};
    queue_.done(batch, outcome);
    ++news_;
    if (queue_.empty() || idle_ == 0) return;
  }
  work_.notify_all();  // something may have waited for this batch
}

StatementAnswer StatementPool::carry_out(Session& session,
                                         const std::vector<Request>& requests) const {
  const LocalTime deadline = real_now() + plan_.statement_timeout;
  const Request& first = requests.front();
  if (const auto change = change_of(first.kind)) {
    std::vector<Ask> asks;
    asks.reserve(requests.size());
    for (const Request& request : requests) asks.push_back(request.ask);
    return session.change(*change, asks, deadline);
  }
  if (first.kind == Kind::look_at_many) return session.look(*first.names, deadline);
  if (first.kind == Kind::init) return session.init(first.ask.mutex, deadline);
  if (first.kind == Kind::write_record) return session.write_record(*first.record, deadline);
  std::vector<std::string> names;
  names.reserve(requests.size());
  for (const Request& request : requests) names.push_back(request.ask.mutex);
  if (first.kind == Kind::read_record) return session.read_records(names, deadline);
  return session.look(names, deadline);
}

}  // namespace simba::sql
