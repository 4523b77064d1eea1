#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "simba/schedule/schedule_config.hpp"

namespace simba::chaos {

/// The mutexes that contenders fight for: one by hand, which changes owners all the time, and one
/// by a scheduler, which nobody gives up by itself.
inline constexpr std::array<const char*, 2> mutexes{"chaos-lock", "chaos-work"};

/// The schedules whose slots the contenders share, each by a mutex of its own; on Redis Cluster
/// the names put them into the slot of the first mutex, which faults aim at.
struct SharedSchedule {
  const char* name = "";
  SlotPromise promise = SlotPromise::at_most_once;
  std::uint64_t failures = 0;  ///< one of so many runs fails

  ScheduleConfig config() const;
};
inline constexpr std::array<SharedSchedule, 2> schedules{
    SharedSchedule{"chaos-once-55090", SlotPromise::at_most_once, 8},
    SharedSchedule{"chaos-again-21414", SlotPromise::at_least_once, 3}};

inline ScheduleConfig SharedSchedule::config() const {
  using namespace std::chrono_literals;
  SlotOptions options{.promise = promise, .history = 50};
  if (promise == SlotPromise::at_least_once) {
    options.max_attempts = 4;
    options.retry_pause = 100ms;
    options.missed = MissedSlots::all;
    options.max_missed = 3;
    options.while_busy = BusySlots::queue_one;
  }
  return ScheduleConfig::shared_rate(0ms, 1s, options);
}

inline constexpr std::size_t most_contenders = 20;
inline constexpr std::size_t most_jvm_contenders = 4;  ///< of them

/// What contenders tell while they run.
struct Status {
  struct Sight {
    std::atomic<std::int64_t> owned_at;  ///< the last moment at which it was seen to own
  };

  // NOLINTNEXTLINE(*-avoid-c-arrays): zero in a new file
  Sight sights[most_contenders][mutexes.size()];

  struct Slots {
    std::atomic<std::int64_t> running_at;  ///< the last moment at which it was seen in a run
    std::atomic<std::int64_t> begun_at;    ///< its last run
  };

  // NOLINTNEXTLINE(*-avoid-c-arrays): the same
  Slots slots[most_contenders][schedules.size()];

  /// Where a sight of the first mutex is in the file, for programs in other languages.
  static constexpr std::size_t offset_of_first(int lane) {
    return static_cast<std::size_t>(lane) * mutexes.size() * sizeof(Sight);
  }
};

/// Which of the processes of a round: its place, and how often that was filled before.
struct Incarnation {
  int lane = 0;
  int life = 0;
  bool killed = false;  ///< by the driver
  bool jvm = false;     ///< it behaves like a contender of the JVM library

  std::string name() const { return fmt::format("{}.{}", lane_name(lane, jvm), life); }

  static std::string lane_name(int lane, bool jvm) {
    return fmt::format("{}{}", jvm ? 'j' : 'c', lane);
  }
};

/// Where the files of a round are.
struct RoundFiles {
  std::filesystem::path folder;

  std::filesystem::path status() const { return folder / "status"; }
  std::filesystem::path resource(std::size_t mutex) const {
    return folder / fmt::format("{}.resource", mutexes.at(mutex));
  }
  std::filesystem::path record(const Incarnation& which, std::size_t mutex) const {
    return folder / fmt::format("{}.{}.record", which.name(), mutexes.at(mutex));
  }
  std::filesystem::path slots(std::size_t schedule) const {
    return folder / fmt::format("{}.slots", schedules.at(schedule).name);
  }
  std::filesystem::path log(const Incarnation& which) const {
    return folder / fmt::format("{}.log", which.name());
  }
  std::filesystem::path clocks(const std::string& of) const { return folder / (of + ".clocks"); }
  std::filesystem::path detours(int lane) const {
    return folder / fmt::format("c{}.detours", lane);
  }
};

}  // namespace simba::chaos
