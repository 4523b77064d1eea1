#include "engine/succession.hpp"

#include <utility>

#include "engine/lease_contention.hpp"

namespace simba::engine {

Succession::Succession(std::weak_ptr<Successions> all, std::string mutex, std::string contender_id)
    : all_{std::move(all)}, mutex_name_{std::move(mutex)}, contender_id_{std::move(contender_id)} {}

Succession::~Succession() {
  if (const auto all = all_.lock()) all->forget(*this);
}

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
  // Made and ended with no lock held: its end takes the lock.
  auto made = std::make_shared<Succession>(weak_from_this(), mutex, contender_id);
  const std::lock_guard lock{mutex_};
  const auto found = all_.find(name_of(*made));
  if (found != all_.end()) {
    if (auto known = found->second.lock()) return known;
    all_.erase(found);  // its succession is about to end, and with it the name
  }
  all_.emplace(name_of(*made), made);
  return made;
}

void Successions::forget(const Succession& succession) {
  const std::lock_guard lock{mutex_};
  const auto found = all_.find(name_of(succession));
  if (found != all_.end() && found->second.expired()) all_.erase(found);
}

}  // namespace simba::engine
