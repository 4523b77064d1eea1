#include "sql/workers/request_queue.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace simba::sql {

bool Request::goes_with(const Request& other) const noexcept {
  if (kind == Kind::write_record) return false;
  return kind == other.kind && ask.ttl == other.ask.ttl && ask.transition == other.ask.transition;
}

bool is_of_record(Request::Kind kind) noexcept {
  return kind == Request::Kind::read_record || kind == Request::Kind::write_record;
}

std::optional<Change> change_of(Request::Kind kind) noexcept {
  switch (kind) {
    case Request::Kind::acquire:
      return Change::acquire;
    case Request::Kind::guard:
      return Change::guard;
    case Request::Kind::release:
      return Change::release;
    case Request::Kind::look:
    case Request::Kind::look_at_many:
    case Request::Kind::init:
    case Request::Kind::read_record:
    case Request::Kind::write_record:
      break;
  }
  return std::nullopt;
}

RequestQueue::Key RequestQueue::key_of(const Request& request) {
  return {request.ask.mutex, request.ask.contender_id, is_of_record(request.kind)};
}

bool RequestQueue::is_alone(const Request& request) noexcept {
  return request.kind == Request::Kind::look_at_many || request.kind == Request::Kind::init;
}

// A stuck mutex leaves one connection to the others.
bool RequestQueue::may_begin(const Request& request) const {
  if (is_alone(request)) return true;
  if (stuck_.contains(request.ask.mutex) && connections_ > 1 &&
      stuck_under_way_ + 1 >= connections_) {
    return false;
  }
  return !under_way_.contains(key_of(request));
}

Batch RequestQueue::take() {
  const auto first = std::find_if(waiting_.begin(), waiting_.end(),
                                  [this](const Request& request) { return may_begin(request); });
  if (first == waiting_.end()) return {};

  Batch batch{.requests = {}, .was_stuck = stuck_.contains(first->ask.mutex)};
  auto& requests = batch.requests;
  const bool alone = is_alone(*first) || alone_.contains(first->ask.mutex);
  if (waiting_.size() == 1) {  // the common case, and in no need of what follows
    requests.push_back(std::move(*first));
    waiting_.clear();
    begin(batch);
    return batch;
  }
  const std::size_t most =
      first->kind == Request::Kind::read_record ? most_reads_together : most_together;
  requests.reserve(alone ? 1 : std::min(most, waiting_.size()));  // keeps the views valid
  std::deque<Request> rest;
  std::unordered_set<std::string_view> mutexes;  // of the batch, and of what must not be overtaken
  const auto joins = [&](const Request& request) {
    if (requests.empty()) return may_begin(request);
    return !alone && requests.size() < most && request.goes_with(requests.front()) &&
           !alone_.contains(request.ask.mutex) && may_begin(request) &&
           !mutexes.contains(request.ask.mutex);
  };
  for (Request& request : waiting_) {
    auto& there = joins(request) ? requests.emplace_back(std::move(request))
                                 : rest.emplace_back(std::move(request));
    mutexes.insert(there.ask.mutex);
  }
  mutexes.clear();
  waiting_ = std::move(rest);

  std::sort(requests.begin(), requests.end(),
            [](const Request& a, const Request& b) { return a.ask.mutex < b.ask.mutex; });
  begin(batch);
  return batch;
}

bool RequestQueue::may_gather_reads() const {
  return !waiting_.empty() && waiting_.size() < most_reads_together &&
         std::all_of(waiting_.begin(), waiting_.end(), [](const Request& request) {
           return request.kind == Request::Kind::read_record;
         });
}

void RequestQueue::begin(const Batch& batch) {
  if (is_alone(batch.requests.front())) return;
  for (const Request& request : batch.requests) {
    under_way_.insert(key_of(request));
  }
  if (batch.was_stuck) ++stuck_under_way_;
}

void RequestQueue::done(const Batch& batch, Outcome outcome) {
  if (batch.requests.empty() || is_alone(batch.requests.front())) return;
  if (batch.was_stuck) --stuck_under_way_;
  const bool single = batch.requests.size() == 1;
  for (const Request& request : batch.requests) {
    const std::string& mutex = request.ask.mutex;
    under_way_.erase(key_of(request));
    // What is wrong with records, or with their table, is nothing that a change of a mutex meets.
    if (is_of_record(request.kind) && outcome != Outcome::stuck) continue;
    // A look needs no lock, so it says nothing of what a change will meet.
    if (outcome == Outcome::answered && change_of(request.kind)) {
      alone_.erase(mutex);
      stuck_.erase(mutex);
    } else if (outcome == Outcome::failed || outcome == Outcome::stuck) {
      alone_.insert(mutex);
      if (single && outcome == Outcome::stuck) stuck_.insert(mutex);
    }
  }
}

std::vector<Request> RequestQueue::take_overdue(LocalTime now) {
  const auto is_overdue = [now](const Request& request) { return request.not_after < now; };
  std::vector<Request> overdue;
  if (std::none_of(waiting_.begin(), waiting_.end(), is_overdue)) return overdue;
  std::deque<Request> rest;
  for (Request& request : waiting_) {
    if (is_overdue(request)) {
      overdue.push_back(std::move(request));
    } else {
      rest.push_back(std::move(request));
    }
  }
  waiting_ = std::move(rest);
  return overdue;
}

std::vector<Request> RequestQueue::take_all() {
  std::vector<Request> all{std::make_move_iterator(waiting_.begin()),
                           std::make_move_iterator(waiting_.end())};
  waiting_.clear();
  return all;
}

}  // namespace simba::sql
