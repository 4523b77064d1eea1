#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace.hpp"
#include "sim/world/threads.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/core/runtime.hpp"
#include "unit/rules/world.hpp"

namespace simba::sim {

using rules::Actor;
using rules::World;
using std::chrono::nanoseconds;

/// What all parts of a run share.
struct Scene {
  World& world;
  Threads& threads;
  Trace& trace;
};

/// What a wall clock shows that is right.
std::chrono::sys_time<nanoseconds> right_wall_time(LocalTime at);

/// A process: its clock, its threads, and what can happen to it. Everything of it that runs does so
/// on a lane of its actor, and is followed by `after_event`.
class Host {
 public:
  /// `drift_ppm`: how much faster its clock goes than true time.
  Host(const Scene& scene, std::size_t number, std::string name, int drift_ppm);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  const Scene& scene() const noexcept { return scene_; }
  World& world() const noexcept { return scene_.world; }
  std::size_t number() const noexcept { return number_; }
  const std::string& name() const noexcept { return name_; }
  int drift_ppm() const noexcept { return drift_ppm_; }
  Actor& actor() const noexcept { return *actor_; }
  const std::shared_ptr<const Runtime>& runtime() const noexcept { return runtime_; }

  /// Lets go of the runtime. What still holds it then holds it against the rules.
  std::weak_ptr<const Runtime> give_up_runtime();

  LocalTime local_now() const { return clock_->now(); }
  SystemTime wall_now() const;
  /// Somebody sets it.
  void step_wall_clock(nanoseconds by) { *wall_offset_ += by; }
  /// The true moment at which the clock shows `local`, to a microsecond.
  LocalTime true_time(LocalTime local) const;

  // ---- threads -----------------------------------------------------------------------------
  /// Runs `body` on a thread of its own, after that time.
  void spawn(nanoseconds delay, std::function<void()> body);
  /// Runs `task` without a thread of its own: it must not block.
  void run(Actor::Lane lane, LocalTime when, std::function<void()> task);
  /// In a simulated thread of this host.
  void sleep(nanoseconds span);
  /// The same, but no longer than until `stop` is requested.
  void sleep(nanoseconds span, const std::stop_token& stop);
  bool wait_until(std::unique_lock<std::mutex>& lock, LocalTime deadline,
                  const std::function<bool()>& ready);

  /// Threads that have not ended.
  std::size_t alive() const noexcept { return alive_; }

  /// Called by whatever has just run something of this host.
  void ran();
  /// How often that was.
  std::size_t events() const noexcept { return events_; }
  std::function<void(Host&)> after_event{};

  /// What the library logs of itself, from warnings on.
  void logged(LogLevel level, std::string_view message);
  /// Called with what it logs as an error.
  std::function<void(std::string_view)> on_error{};

  // ---- troubles ----------------------------------------------------------------------------
  void pause(nanoseconds span);
  /// Nothing of it runs any more, until `revive`.
  void crash();
  void revive();
  bool crashed() const noexcept { return crashed_; }
  /// It was paused a moment ago, so not everything that is due has run yet.
  bool drowsy() const { return has_just_woken(std::chrono::milliseconds{20}); }
  bool has_just_woken(nanoseconds span) const;
  nanoseconds paused_in_all() const noexcept { return paused_in_all_; }

  /// Users end what they do.
  bool ending = false;

 private:
  struct Parked;
  void wake(Parked& parked, nanoseconds delay);
  void poll();

  const Scene scene_;
  const std::size_t number_;
  const std::string name_;
  const LocalTime began_;
  const int drift_ppm_;
  const std::shared_ptr<Actor> actor_;
  const std::shared_ptr<nanoseconds> wall_offset_ = std::make_shared<nanoseconds>(0);
  std::shared_ptr<const Clock> clock_;
  std::shared_ptr<const Runtime> runtime_;
  std::vector<Parked*> waiting_;  // those who wait for something to become true
  std::size_t alive_ = 0;
  std::uint64_t parked_ = 0;
  std::size_t events_ = 0;
  bool crashed_ = false;
  LocalTime awake_at_ = LocalTime::min();
  nanoseconds paused_in_all_{0};
};

}  // namespace simba::sim
