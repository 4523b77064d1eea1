#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "simba/core/runtime.hpp"
#include "simba/core/time.hpp"

namespace simba::rules {

/// True time, and everything that is going to happen, in order. For one thread, as all of these
/// simulated parts. Everything random comes from here, so a seed tells the whole story.
class World {
 public:
  using Task = std::function<void()>;

  explicit World(std::uint64_t seed) : random_{seed} {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  LocalTime now() const noexcept { return now_; }

  void at(LocalTime when, Task task);

  /// Does the next thing, or, where that comes after `limit`, moves time on to `limit`. Says
  /// whether there was one.
  bool step(LocalTime limit);
  void run_until(LocalTime when) {
    while (step(when)) {
    }
  }

  /// Forgets what was going to happen.
  void clear();

  /// Called after everything that happens.
  std::function<void()> after_each{};

  /// Whether things take their time.
  bool rough = false;

  bool chance(int per_thousand) { return below(1'000) < static_cast<std::size_t>(per_thousand); }
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
  std::chrono::nanoseconds between(std::chrono::nanoseconds low, std::chrono::nanoseconds high);
  std::uint64_t next() { return random_(); }

  /// Keeps the last events, for the one who has to understand a failure.
  void note(std::string what);
  std::string story() const;

 private:
  LocalTime now_{std::chrono::hours{24}};
  std::map<std::pair<LocalTime, std::uint64_t>, Task> tasks_;
  std::uint64_t added_ = 0;
  std::mt19937_64 random_;
  std::deque<std::string> notes_;
};

/// Someone who can be paused, so that nothing of it runs and everything is made up for afterwards:
/// a process or the server.
class Actor {
 public:
  /// What runs on a thread of its own: they do not wake up in step after a pause.
  enum class Lane : std::size_t { loop, timers, callbacks };

  explicit Actor(World& world) : world_{world} {}
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  World& world() const noexcept { return world_; }

  /// Runs it at that moment, or when it is awake again.
  void at(Lane lane, LocalTime when, World::Task task);

  void pause_until(LocalTime when);
  bool paused() const noexcept { return world_.now() < asleep_until_; }

  /// Pauses it until `thaw`.
  void freeze() { asleep_until_ = never; }
  void thaw();
  bool frozen() const noexcept { return asleep_until_ == never; }

 private:
  void run(Lane lane, World::Task task);
  LocalTime awake_at(Lane lane) const;
  void wake_later(Lane lane);
  void wake(Lane lane);

  World& world_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // until this is gone
  LocalTime asleep_until_ = LocalTime::min();
  std::array<std::chrono::nanoseconds, 3> lag_{};  // of each lane, after a pause
  std::array<std::deque<World::Task>, 3> missed_;
};

/// The runtime of a process: its clock goes wrong by `drift_ppm`, its threads are those of `actor`.
std::shared_ptr<const Runtime> make_process_runtime(std::shared_ptr<Actor> actor, int drift_ppm,
                                                    std::shared_ptr<Logger> log);

}  // namespace simba::rules
