#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simba/core/clock.hpp"
#include "simba/core/log.hpp"
#include "simba/core/mutex_owner.hpp"

namespace simba::test {

/// Shows the moment it was told.
class FixedClock final : public Clock {
 public:
  LocalTime now() const noexcept override { return LocalTime{std::chrono::nanoseconds{now_}}; }
  void set(std::chrono::nanoseconds now) { now_ = now.count(); }

 private:
  std::atomic<std::int64_t> now_{0};
};

/// Remembers every line.
class LineLog final : public Logger {
 public:
  bool enabled(LogLevel /*level*/) const noexcept override { return true; }

  void log(LogLevel level, std::string_view message) noexcept override {
    const std::lock_guard lock{mutex_};
    lines_.emplace_back(level, message);
  }

  std::vector<std::pair<LogLevel, std::string>> lines() const {
    const std::lock_guard lock{mutex_};
    return lines_;
  }

  bool has(std::string_view part) const {
    const auto all = lines();
    return std::any_of(all.begin(), all.end(), [&](const auto& line) {
      return line.second.find(part) != std::string::npos;
    });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

inline LocalTime at(std::chrono::nanoseconds moment) { return LocalTime{moment}; }

inline LocalLease local_lease(std::chrono::nanoseconds acquired, std::chrono::nanoseconds ttl,
                              std::chrono::nanoseconds transition) {
  return {at(acquired), at(ttl), at(transition)};
}

inline MutexOwner owner(std::string id, LocalLease lease = {},
                        std::shared_ptr<const Clock> clock = std::make_shared<FixedClock>()) {
  return {std::move(id), StoreLease{}, lease, 7, std::move(clock)};
}

}  // namespace simba::test
