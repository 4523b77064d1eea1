#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/checker.hpp"
#include "sim/slot_rules.hpp"
#include "sim/users/users.hpp"
#include "sim/world/host.hpp"
#include "sim/world/network.hpp"
#include "sim/world/store.hpp"
#include "simba/engine/lease_service_factory.hpp"

namespace simba::sim {

/// How long a client waits for an answer at most.
inline constexpr nanoseconds longest_patience = std::chrono::seconds{5};

/// What is done to a schedule from outside.
enum class Steering { pause, resume, trigger };

/// A process with its users.
class Process {
 public:
  /// Who is in it: the same for all processes that follow each other in one place.
  struct Member {
    Party::Kind kind;
    std::size_t mutex;
    std::string id;
    ScheduleConfig schedule;
  };

  Process(std::unique_ptr<Host> host, Network& network, Checker& checker, SlotRules& slots,
          const Mood& mood, std::vector<Resource>& resources, const ContentionOptions& options,
          nanoseconds patience);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Host& host() const noexcept { return *host_; }
  void add(const Member& member);
  void observe(std::size_t mutex);
  /// Someone in it pauses or resumes the schedule of a mutex, or asks for a run of it.
  void steer(std::size_t mutex, Steering how);

  /// Ends all users, on simulated threads, and lets go of the library.
  void end();
  /// What is left after that, in words; empty: nothing.
  std::string left() const;

  std::vector<std::unique_ptr<User>> users;
  std::vector<std::unique_ptr<Observer>> observers;

 private:
  void let_go();

  const std::unique_ptr<Host> host_;
  Network& network_;
  Checker& checker_;
  SlotRules& slots_;
  const Mood& mood_;
  std::vector<Resource>& resources_;
  std::shared_ptr<SimStore> store_;
  std::unique_ptr<engine::LeaseServiceFactory> factory_;
  std::weak_ptr<SimStore> weak_store_;
  std::weak_ptr<const Runtime> weak_runtime_;
  std::size_t to_end_ = 0;
};

/// Everything that takes part in a run, made by its seed.
class Stage {
 public:
  Stage(std::uint64_t seed, Threads& threads, bool trace);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// A new process in that place, with the same contender ids or with others.
  Process& settle(std::size_t place, bool same_ids);
  /// The process that is in that place now.
  Process& at(std::size_t place) const { return *processes[occupied_[place]]; }
  std::size_t places() const noexcept { return occupied_.size(); }

  World world;
  Trace trace;
  const Scene scene;
  const bool namesakes;  ///< the last process has the contender ids of the first one
  const bool slotted;    ///< the last mutex has a schedule whose slots are shared
  const std::size_t mutexes;
  const ContentionOptions options;
  const ContentionPlan plan;
  Checker checker;
  Network network;
  SlotRules slots;
  Mood mood{};
  std::vector<Resource> resources;
  std::vector<std::unique_ptr<Process>> processes;  ///< also those that have crashed

 private:
  void share_slots();
  void trace_head();
  void trace_begin(const Process& process, std::size_t place);

  std::vector<std::vector<Process::Member>> members_;  // of each place
  std::vector<std::vector<std::size_t>> observed_;     // of each place
  std::vector<std::size_t> occupied_;
  std::size_t renamed_ = 0;
};

}  // namespace simba::sim
