#include "sql/watching/watch_hub.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "sql/rows.hpp"

namespace simba::sql {

using engine::LeaseRecord;
using engine::Notice;

bool WatchHub::add(const std::shared_ptr<Subscription>& subscription) {
  const std::lock_guard lock{mutex_};
  const auto [slot, is_new] = entries_.try_emplace(subscription->mutex);
  if (is_new) {
    slot->second.number = ++last_number_;
    names_.reset();
  }
  slot->second.subscriptions.push_back(subscription);
  return is_new;
}

void WatchHub::remove(const std::shared_ptr<Subscription>& subscription) {
  subscription->ended = true;
  const std::lock_guard lock{mutex_};
  const auto found = entries_.find(subscription->mutex);
  std::erase(found->second.subscriptions, subscription);
  if (found->second.subscriptions.empty()) {
    entries_.erase(found);
    names_.reset();
  }
}

void WatchHub::saw(const std::string& mutex, const LeaseRecord& record) {
  std::vector<std::shared_ptr<Subscription>> to_tell;
  Notice::Kind kind = Notice::Kind::changed;
  {
    const std::lock_guard lock{mutex_};
    const auto found = entries_.find(mutex);
    if (found == entries_.end()) return;
    Entry& entry = found->second;
    // A version of zero may be that of a row that has vanished, so it tells nothing of the order.
    const bool smaller = record.fencing_token != 0 && record.fencing_token < entry.version;
    if (entry.known && smaller &&
        (!record.counted_from || *record.counted_from <= entry.learned_at)) {
      return;
    }
    // Free at another version: it was owned in between, so whoever tried then may try again.
    const bool freed_again = record.owner_id.empty() && entry.version != record.fencing_token;
    const bool changed = !entry.known || entry.owner_id != record.owner_id || freed_again;
    const bool renewed = !changed && record.fencing_token > entry.version;
    entry.known = true;
    entry.owner_id = record.owner_id;
    entry.version = record.fencing_token;
    entry.learned_at = clock_->now();
    if (renewed) kind = Notice::Kind::renewed;
    for (const auto& subscription : entry.subscriptions) {
      if (changed || renewed || !subscription->told) to_tell.push_back(subscription);
      subscription->told = true;
    }
  }
  if (to_tell.empty()) return;
  const Notice notice{.kind = kind, .record = record};
  for (const auto& subscription : to_tell) {
    if (!subscription->ended) subscription->handler(notice);
  }
}

void WatchHub::saw(const std::vector<std::string>& asked, const std::vector<Row>& rows,
                   LocalTime counted_from) {
  std::unordered_set<std::string_view> found;
  for (const Row& row : rows) {
    LeaseRecord record = record_of(row);
    record.counted_from = counted_from;
    saw(row.mutex, record);
    found.insert(row.mutex);
  }
  if (found.size() == asked.size()) return;
  LeaseRecord free;
  free.counted_from = counted_from;
  for (const std::string& mutex : asked) {
    if (!found.contains(mutex)) saw(mutex, free);
  }
}

bool WatchHub::watches(const std::string& mutex) const {
  const std::lock_guard lock{mutex_};
  return entries_.contains(mutex);
}

MutexNames WatchHub::names() const {
  const std::lock_guard lock{mutex_};
  if (!names_) {
    std::vector<std::pair<std::uint64_t, const std::string*>> order;
    order.reserve(entries_.size());
    for (const auto& [name, entry] : entries_) order.emplace_back(entry.number, &name);
    std::sort(order.begin(), order.end());
    auto names = std::make_shared<std::vector<std::string>>();
    names->reserve(order.size());
    for (const auto& [number, name] : order) names->push_back(*name);
    names_ = std::move(names);
  }
  return names_;
}

}  // namespace simba::sql
