#include "lease_table.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace simba::memory {

using engine::LeaseRecord;
using engine::LeaseRequest;
using engine::Notice;
using std::chrono::floor;
using std::chrono::milliseconds;

namespace {

// More than these are wanted again soon only by a program that takes many mutexes at once.
constexpr std::size_t most_spare = 16;

LocalTime later(LocalTime from, milliseconds span) noexcept {
  return span < floor<milliseconds>(never - from) ? from + span : never;
}

milliseconds left(LocalTime end, LocalTime now) noexcept {
  return std::max(floor<milliseconds>(end - now), milliseconds::zero());
}

}  // namespace

Subscription::Subscription(const LeaseRequest& request, engine::NoticeHandler on_notice)
    : contender_id{request.contender_id},
      ttl{request.ttl},
      transition{request.transition},
      instance{request.instance},
      handler{std::move(on_notice)} {}

LeaseTable::LeaseTable(std::shared_ptr<const Clock> clock)
    : clock_{std::move(clock)},
      local_base_{clock_->now()},
      store_base_{floor<milliseconds>(std::chrono::system_clock::now().time_since_epoch())} {
  spare_.reserve(most_spare);
}

LeaseRecord LeaseTable::acquire(const LeaseRequest& request) {
  std::unique_lock lock{mutex_};
  const LocalTime now = clock_->now();
  auto& slot = slot_of(request.mutex);
  Entry& entry = slot.second;
  const bool names_it = entry.owner_id == request.contender_id;
  const bool its_own = !entry.is_namesake_of(request) || entry.token == request.takes_over;
  if (!entry.owned(now) || (names_it && its_own)) {
    grant(entry, {request.contender_id, request.ttl, request.transition, request.instance}, now);
    wait_no_longer(entry, request.contender_id);
    tell_change(entry, request.contender_id, now);
  }
  LeaseRecord answer = record_of(entry, now, &request);
  deliver(slot, lock);
  return answer;
}

LeaseRecord LeaseTable::guard(const LeaseRequest& request) {
  std::unique_lock lock{mutex_};
  const auto found = entries_.find(request.mutex);
  if (found == entries_.end()) {
    return {};
  }
  Entry& entry = found->second;
  const LocalTime now = clock_->now();
  if (entry.owner_id == request.contender_id && !entry.is_namesake_of(request)) {
    if (entry.owned(now)) {
      entry.ttl_at = later(now, request.ttl);
      entry.transition_at = later(entry.ttl_at, request.transition);
    } else {
      pass_on(entry, request.contender_id, now);
    }
  }
  LeaseRecord answer = record_of(entry, now, &request);
  deliver(*found, lock);
  return answer;
}

LeaseRecord LeaseTable::release(const LeaseRequest& request, FencingToken token) {
  std::unique_lock lock{mutex_};
  const auto found = entries_.find(request.mutex);
  if (found == entries_.end()) {
    return {};
  }
  Entry& entry = found->second;
  const LocalTime now = clock_->now();
  wait_no_longer(entry, request.contender_id);
  if (entry.owner_id == request.contender_id && entry.token == token) {
    pass_on(entry, request.contender_id, now);
  }
  LeaseRecord answer = record_of(entry, now, &request);
  deliver(*found, lock);
  return answer;
}

LeaseRecord LeaseTable::retrieve(const std::string& mutex) const {
  const std::lock_guard lock{mutex_};
  const auto found = entries_.find(mutex);
  return found == entries_.end() ? LeaseRecord{} : record_of(found->second, clock_->now());
}

LeaseTable::Slot& LeaseTable::subscribe(const std::string& mutex, const Subscriber& subscriber) {
  std::unique_lock lock{mutex_};
  const LocalTime now = clock_->now();
  auto& slot = slot_of(mutex);
  Entry& entry = slot.second;
  entry.subscribers.push_back(subscriber);
  const bool owned = entry.owned(now);
  subscriber->waiting =
      !subscriber->contender_id.empty() && !(owned && entry.owner_id == subscriber->contender_id);
  if (owned || !subscriber->waiting) {
    entry.outbox.push_back({subscriber, notice_of(Notice::Kind::changed, entry, now)});
  } else {
    pass_on(entry, {}, now);
  }
  deliver(slot, lock);
  return slot;
}

void LeaseTable::unsubscribe(Slot& slot, const Subscriber& subscriber) {
  subscriber->ended = true;
  const std::lock_guard lock{mutex_};
  std::erase(slot.second.subscribers, subscriber);
  drop_if_idle(slot);
}

void LeaseTable::read(const std::string& mutex, RecordHandler handler) {
  RecordAnswer answer;
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = records_.find(mutex); found != records_.end()) {
      answer.record = found->second;
    }
    answer.record.now = floor<milliseconds>(clock_->wall_now());
  }
  handler(std::move(answer));
}

void LeaseTable::write(const RecordWrite& write, RecordHandler handler) {
  handler(this->write(write));
}

RecordAnswer LeaseTable::write(const RecordWrite& write) {
  using Outcome = RecordAnswer::Outcome;
  const std::lock_guard lock{mutex_};
  const auto found = records_.find(write.mutex);
  RecordAnswer answer{Outcome::written, found == records_.end() ? MutexRecord{} : found->second};
  answer.record.now = floor<milliseconds>(clock_->wall_now());
  if (write.owner && !owned_by(write.mutex, *write.owner)) {
    answer.outcome = Outcome::not_owned;
  } else if (answer.record.version != write.replaces) {
    answer.outcome = Outcome::changed;
  } else if (write.not_before && answer.record.now < *write.not_before) {
    answer.outcome = Outcome::too_early;
  } else {
    answer.record.text = write.text;
    ++answer.record.version;
    records_.insert_or_assign(write.mutex, answer.record);
  }
  return answer;
}

bool LeaseTable::owned_by(const std::string& mutex, const RecordOwner& owner) const {
  const auto found = entries_.find(mutex);
  return found != entries_.end() && found->second.owned(clock_->now()) &&
         found->second.owner_id == owner.contender_id &&
         owner.fencing_token >= found->second.first_token &&
         owner.fencing_token <= found->second.token;
}

void LeaseTable::grant(Entry& entry, const Grantee& to, LocalTime now) {
  const bool again =
      entry.owned(now) && entry.owner_id == to.contender_id && entry.instance == to.instance;
  entry.owner_id = to.contender_id;
  entry.acquired_at = now;
  entry.ttl_at = later(now, to.ttl);
  entry.transition_at = later(entry.ttl_at, to.transition);
  entry.instance = to.instance;
  entry.token = ++last_token_;
  if (!again) entry.first_token = entry.token;
}

/// Makes the next waiter the owner, or nobody, and tells all but `cause`.
void LeaseTable::pass_on(Entry& entry, const std::string& cause, LocalTime now) {
  entry.owner_id.clear();
  const auto heir = std::find_if(entry.subscribers.begin(), entry.subscribers.end(),
                                 [](const Subscriber& s) { return s->waiting; });
  if (heir == entry.subscribers.end()) {
    tell_change(entry, cause, now);
    return;
  }
  const Subscription& next = **heir;
  grant(entry, {next.contender_id, next.ttl, next.transition, next.instance}, now);
  wait_no_longer(entry, next.contender_id);
  entry.outbox.push_back({*heir, notice_of(Notice::Kind::granted, entry, now)});
  tell_change(entry, cause, now, &next);
}

/// Tells who owns the mutex now, but not to contender `cause`, nor to `except`.
void LeaseTable::tell_change(Entry& entry, const std::string& cause, LocalTime now,
                             const Subscription* except) const {
  if (entry.subscribers.empty()) {
    return;
  }
  const Notice changed = notice_of(Notice::Kind::changed, entry, now);
  for (const Subscriber& subscriber : entry.subscribers) {
    const bool knows = !cause.empty() && subscriber->contender_id == cause;
    if (!knows && subscriber.get() != except) {
      entry.outbox.push_back({subscriber, changed});
    }
  }
}

void LeaseTable::wait_no_longer(Entry& entry, const std::string& contender_id) {
  for (const Subscriber& subscriber : entry.subscribers) {
    if (subscriber->contender_id == contender_id) {
      subscriber->waiting = false;
    }
  }
}

LeaseRecord LeaseTable::record_of(const Entry& entry, LocalTime now,
                                  const LeaseRequest* asked) const {
  LeaseRecord record;
  record.store_time = store_time(now);
  if (entry.owned(now)) {
    record.owner_id = entry.owner_id;
    record.lease = {store_time(entry.acquired_at), store_time(entry.ttl_at),
                    store_time(entry.transition_at)};
    record.ttl_left = left(entry.ttl_at, now);
    record.transition_left = left(entry.transition_at, now);
    record.fencing_token = entry.token;
    record.namesake = asked != nullptr && entry.is_namesake_of(*asked);
  }
  return record;
}

Notice LeaseTable::notice_of(Notice::Kind kind, const Entry& entry, LocalTime now) const {
  Notice notice{kind, record_of(entry, now)};
  notice.record->counted_from = now;
  return notice;
}

StoreTime LeaseTable::store_time(LocalTime moment) const noexcept {
  return StoreTime{store_base_ + floor<milliseconds>(moment - local_base_)};
}

/// Empties the outbox without the lock, unless another thread is doing so already.
void LeaseTable::deliver(Slot& slot, std::unique_lock<std::mutex>& lock) noexcept {
  Entry& entry = slot.second;
  if (entry.delivering) {
    return;
  }
  if (!entry.outbox.empty()) {
    entry.delivering = true;
    while (!entry.outbox.empty()) {
      std::vector<Delivery> deliveries;
      deliveries.swap(entry.outbox);
      lock.unlock();
      std::vector<FencingToken> unheard;
      for (const auto& [to, notice] : deliveries) {
        if (!to->ended) {
          to->handler(notice);
        } else if (notice.kind == Notice::Kind::granted && notice.record) {
          unheard.push_back(notice.record->fencing_token);
        }
      }
      deliveries.clear();  // may let go of what a handler holds
      lock.lock();
      // Who left before hearing of its grant will not use it: the next waiter gets it.
      if (!entry.owner_id.empty() &&
          std::find(unheard.begin(), unheard.end(), entry.token) != unheard.end()) {
        pass_on(entry, {}, clock_->now());
      }
    }
    entry.delivering = false;
  }
  drop_if_idle(slot);
}

/// Makes one if there is none, of what another has left: nothing of that counts without an owner.
LeaseTable::Slot& LeaseTable::slot_of(const std::string& mutex) {
  const auto found = entries_.find(mutex);
  if (found != entries_.end()) {
    return *found;
  }
  if (spare_.empty()) {
    return *entries_.try_emplace(mutex).first;
  }
  auto node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = mutex;
  return *entries_.insert(std::move(node)).position;
}

void LeaseTable::drop_if_idle(const Slot& slot) {
  const Entry& entry = slot.second;
  if (entry.owner_id.empty() && entry.subscribers.empty() && !entry.delivering) {
    auto node = entries_.extract(entries_.find(slot.first));
    if (spare_.size() < most_spare) {
      spare_.push_back(std::move(node));
    }
  }
}

}  // namespace simba::memory
