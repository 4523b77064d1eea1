#include "engine/succession.hpp"

#include "engine/lease_contention.hpp"

namespace simba::engine {

void Succession::begin(std::weak_ptr<LeaseContention> newest) {
  const std::lock_guard lock{mutex_};
  newest_.swap(newest);
}

bool Succession::enter(const LeaseContention& contention) {
  const std::lock_guard lock{mutex_};
  if (inside_ != nullptr && inside_ != &contention) return false;
  inside_ = &contention;
  return true;
}

void Succession::leave(const LeaseContention& contention) {
  const std::lock_guard lock{mutex_};
  if (inside_ == &contention) inside_ = nullptr;
}

std::shared_ptr<LeaseContention> Succession::successor_of(const LeaseContention& asking) {
  const std::lock_guard lock{mutex_};
  auto newest = newest_.lock();
  return newest.get() == &asking ? nullptr : newest;
}

std::shared_ptr<Succession> Successions::of(const std::string& mutex,
                                            const std::string& contender_id) {
  const Name name{mutex, contender_id};
  const auto end = [weak = weak_from_this(), name](const Succession* succession) {
    std::default_delete<const Succession>{}(succession);
    if (const auto all = weak.lock()) all->forget(name);
  };
  // Made and ended with no lock held: its end takes the lock.
  std::shared_ptr<Succession> made{new Succession, end};
  const std::lock_guard lock{mutex_};
  std::weak_ptr<Succession>& place = all_[name];
  if (auto known = place.lock()) return known;
  place = made;
  return made;
}

void Successions::forget(const Name& name) {
  const std::lock_guard lock{mutex_};
  const auto found = all_.find(name);
  if (found != all_.end() && found->second.expired()) all_.erase(found);
}

}  // namespace simba::engine
