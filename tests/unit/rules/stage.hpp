#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unit/rules/outcome.hpp"
#include "unit/rules/process.hpp"
#include "unit/rules/stranger.hpp"
#include "unit/rules/world.hpp"

namespace simba::rules {

/// Everyone who takes part, and what must always hold among them, whatever the store. The servers
/// are those of the store.
class Stage {
 public:
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  World world;
  Outcome outcome;

  std::vector<std::unique_ptr<Process>> processes;  ///< the crashed ones, too
  std::shared_ptr<Stranger> stranger;               ///< or null: there is none
  std::vector<std::string> mutexes;

  /// Everyone comes. To be called first.
  void gather();
  /// `like`: with the names of one that is gone.
  void add_process(const Process* like = nullptr);

  bool failed() const noexcept { return outcome.fault != Outcome::Fault::none; }
  void fail(Outcome::Fault fault, std::string what);

  /// From when on a mutex must not be without an owner for longer than `limit` while someone has
  /// contended for it all the time.
  void demand_owners(LocalTime from, std::chrono::nanoseconds limit, Outcome::Fault fault);

  /// Whom the servers take for the owner, or nobody: "".
  virtual std::string owner_of(const std::string& mutex) = 0;

  /// What must hold at every moment. Happens by itself whenever something happens.
  void check();
  void check_observers();
  /// What must hold when all have stopped.
  virtual void check_end() = 0;

 protected:
  explicit Stage(std::uint64_t seed) : world{seed} {}

  /// Everyone goes. To be called while there are servers.
  void clear();

  virtual std::unique_ptr<Process> make_process(const std::string& name, int drift_ppm) = 0;
  virtual std::shared_ptr<Stranger> make_stranger(const std::string& mutex) = 0;

  // ---- for the checks of a store

  virtual void check_servers() {}
  virtual void check_mutex(const std::string& mutex) = 0;

  /// Calls `visit` with every member of a process that has not crashed.
  template <typename Visit>
  void for_each_living(Visit visit) const {
    for (const auto& process : processes) {
      if (process->crashed()) continue;
      for (Process::Member& member : process->members()) visit(member);
    }
  }

  /// Sees whether it owns, and under which token. Says whether that is a new ownership.
  bool look_at(Process::Member& member);
  void check_is_newer(const Process::Member& member, FencingToken last);

  /// For how long a mutex has been without an owner, where that is longer than demanded.
  std::optional<std::chrono::nanoseconds> unowned_too_long(LocalTime owned_at,
                                                           LocalTime waited_since) const;
  Outcome::Fault demanded_fault() const noexcept { return demanded_fault_; }

  enum class Tokens { always_grow, may_start_again };
  void check_callbacks(Tokens tokens);

 private:
  void check_callbacks(const Process& process, const Process::Member& member, Tokens tokens);

  int made_ = 0;
  LocalTime demanded_from_ = never;
  std::chrono::nanoseconds demanded_within_{0};
  Outcome::Fault demanded_fault_ = Outcome::Fault::nobody_owns;
};

}  // namespace simba::rules
