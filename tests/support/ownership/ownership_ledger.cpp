#include "support/ownership/ownership_ledger.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "support/safety.hpp"

namespace simba::support {

std::size_t OwnershipLedger::begin(const std::string& owner, FencingToken token, LocalTime at) {
  const std::lock_guard lock{mutex_};
  entries_.push_back({owner, token, at, at});
  return entries_.size() - 1;
}

void OwnershipLedger::extend(std::size_t number, LocalTime at) {
  const std::lock_guard lock{mutex_};
  entries_.at(number).last = at;
}

void OwnershipLedger::report(const std::string& what) {
  const std::lock_guard lock{mutex_};
  reports_ += what + '\n';
}

std::size_t OwnershipLedger::size() const {
  const std::lock_guard lock{mutex_};
  return entries_.size();
}

std::size_t OwnershipLedger::begun_since(LocalTime at) const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(),
                                                [&](const Entry& e) { return e.first >= at; }));
}

std::size_t OwnershipLedger::begun_since(LocalTime at, const std::string& owner) const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [&](const Entry& e) { return e.first >= at && e.owner == owner; }));
}

std::string OwnershipLedger::newest_owner() const {
  const std::lock_guard lock{mutex_};
  return entries_.empty() ? "" : entries_.back().owner;
}

LocalTime OwnershipLedger::last_seen() const {
  const std::lock_guard lock{mutex_};
  LocalTime last{};
  for (const auto& entry : entries_) {
    last = std::max(last, entry.last);
  }
  return last;
}

std::string OwnershipLedger::contradictions(std::chrono::nanoseconds tolerated) const {
  const std::lock_guard lock{mutex_};
  auto sorted = entries_;
  std::sort(sorted.begin(), sorted.end(),
            [](const Entry& a, const Entry& b) { return a.first < b.first; });
  std::string text = reports_;
  const auto milliseconds = [](auto span) {
    return std::chrono::duration<double, std::milli>{span}.count();
  };
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const auto& before = sorted[i - 1];
    const auto& after = sorted[i];
    if (after.first <= before.last && before.last - after.first >= tolerated) {
      fmt::format_to(std::back_inserter(text),
                     "{}{} (token {}) still owned {:.1f} ms after {} (token {}) did\n",
                     safety_violation, before.owner, before.token,
                     milliseconds(before.last - after.first), after.owner, after.token);
    }
    if (after.token <= before.token) {
      fmt::format_to(std::back_inserter(text), "{}{} got token {} after {} had {}\n",
                     safety_violation, after.owner, after.token, before.owner, before.token);
    }
  }
  return text;
}

}  // namespace simba::support
