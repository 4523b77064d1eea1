#include "chaos/round.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "chaos/checking/checker.hpp"
#include "chaos/checking/slot_checker.hpp"
#include "chaos/checking/slot_watch.hpp"
#include "chaos/checking/timeline.hpp"
#include "chaos/contenders/crew.hpp"
#include "chaos/faults/driver.hpp"
#include "chaos/faults/fault_environment.hpp"
#include "chaos/raw_clock.hpp"
#include "chaos/round_files.hpp"
#include "support/patience.hpp"

namespace simba::chaos {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> together(std::vector<std::string> first,
                                  const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// What happened.
struct Story {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<FaultSpan> faults{};
  std::vector<Incarnation> incarnations{};
  std::vector<std::string> problems{};
  int jvm = 0;                           ///< contenders of the JVM library at a time
  std::vector<SlotWatch::Seen> slots{};  ///< what the store remembers of schedules
  std::string without_jvm{};             ///< why there are none although they were asked for
};

/// Whether contenders of the JVM library can take part. Tells the story why not.
bool has_jvm(const Servers& servers, Story& story) {
  try {
    return !servers.jvm_command({}).empty();
  } catch (const std::exception& error) {
    story.without_jvm = error.what();
    return false;
  }
}

/// A leader that could not read the record asks again after so long at most.
constexpr std::chrono::seconds longest_look{10};

/// After the last fault the next slot begins: when there is a leader, it has asked again, and the
/// true time has come to where a clock had been set. Returns what is wrong.
std::vector<std::string> await_slots(const Crew& crew, const Store& store,
                                     const std::atomic<bool>& interrupted) {
  using namespace std::chrono_literals;
  const auto limit = store.bound + longest_look + lease_times().lease() * 2 + support::scaled(2s);
  const auto begin = raw_now();
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    bool begun = false;
    while (!begun && raw_now() - begin < limit / 1ns && !interrupted.load()) {
      std::this_thread::sleep_for(5ms);
      begun = crew.begun_since(i, begin);
    }
    if (!begun && !interrupted.load()) {
      wrong.push_back(fmt::format("{}: no slot has begun for {:.1f} s after the last fault",
                                  schedules.at(i).name, seconds(raw_now() - begin)));
    }
  }
  return wrong;
}

Story live(const Store& store, const RoundSettings& settings, const RoundFiles& files,
           const std::atomic<bool>& interrupted) {
  FaultEnvironment fault_environment;
  const auto servers = store.open({.folder = files.folder.string(),
                                   .open_folder = fault_environment.path().string(),
                                   .ways = &fault_environment.detours()});
  Story story;
  story.jvm = settings.jvm > 0 && has_jvm(*servers, story) ? settings.jvm : 0;
  Crew crew{{.files = files,
             .libraries = fault_environment.path(),
             .url = servers->url(),
             .clock_of_hosts = store.clock_of_hosts,
             .ports = servers->ports(),
             .size = settings.contenders,
             .seed = settings.seed,
             .jvm = story.jvm,
             .jvm_command = [&](const JvmContender& contender) {
               return servers->jvm_command(contender);
             }}};
  std::vector<std::string> names;
  for (const auto& schedule : schedules) {
    names.emplace_back(schedule.name);
  }
  SlotWatch watch{servers->url(), names};
  story.begin = raw_now();
  Driver driver{{crew, *servers, fault_environment.clocks()},
                store.faults,
                {.length = settings.length, .seed = settings.seed, .bound = store.bound},
                interrupted};
  if (driver.begin()) {
    try {
      driver.run(story.faults);
      story.problems = await_slots(crew, store, interrupted);
    } catch (const std::exception& error) {
      story.problems.emplace_back(error.what());
    }
  } else {
    story.problems.emplace_back("nobody has acquired a mutex at the beginning");
  }
  story.end = raw_now();
  if (!interrupted.load()) {  // else some may not have come so far
    story.problems = together(std::move(story.problems), crew.strays());
  }
  story.problems = together(std::move(story.problems), crew.end());
  story.incarnations = crew.incarnations();
  try {
    story.slots = watch.finish();
  } catch (const std::exception& error) {
    story.problems.push_back(fmt::format("what became of slots cannot be read: {}", error.what()));
  }
  return story;
}

/// Adds to `problems` what cannot be read.
Evidence read_evidence(const RoundFiles& files, const Story& story, std::size_t mutex,
                       std::vector<std::string>& problems) {
  Evidence evidence{.mutex = mutexes.at(mutex)};
  for (const auto& which : story.incarnations) {
    const auto file = files.record(which, mutex);
    if (which.jvm && mutex != 0) {
      continue;
    }
    if (which.killed && !fs::exists(file)) {
      continue;  // before it began to write
    }
    try {
      evidence.records.push_back(read_record(file, which.name(), which.lane));
    } catch (const std::exception& error) {
      problems.emplace_back(error.what());
    }
  }
  evidence.uses = read_fenced_log(files.resource(mutex));
  return evidence;
}

/// When two owners are not the library's fault.
Excuses excuses_of(const Store& store, const std::vector<FaultSpan>& faults) {
  Excuses excuses{.longest = std::chrono::nanoseconds{store.two_owners_for}.count()};
  for (const auto& fault : faults) {
    if (store.two_owners_possible && fault.fails_over) {
      excuses.periods.push_back(
          {fault.begin, fault.end + std::chrono::nanoseconds{store.two_owners_within}.count()});
    }
  }
  return excuses;
}

void add(StoreResult& result, const Evidence& evidence, const Excuses& excuses,
         std::int64_t origin) {
  const auto findings = check(evidence, excuses, origin);
  const auto detail = [&](std::string_view what, const std::string& text) {
    result.details.push_back(fmt::format("{}: {}: {}", evidence.mutex, what, text));
  };
  result.ownerships += static_cast<std::int64_t>(findings.ownerships);
  result.overlaps += static_cast<std::int64_t>(findings.overlaps.size());
  result.tokens += static_cast<std::int64_t>(findings.tokens.size());
  result.callbacks += static_cast<std::int64_t>(findings.callbacks.size());
  result.updates += static_cast<std::int64_t>(findings.updates);
  result.refused += static_cast<std::int64_t>(findings.refused);
  result.lost += static_cast<std::int64_t>(findings.lost);
  result.jvm_ownerships += static_cast<std::int64_t>(findings.jvm_ownerships);
  result.beliefs += static_cast<std::int64_t>(findings.beliefs.size());
  for (const auto& belief : findings.beliefs) {
    result.longest_belief =
        std::max(result.longest_belief, belief.length / nanoseconds_per_millisecond + 1);
  }
  for (const auto& overlap : findings.overlaps) {
    const auto length = overlap.length / nanoseconds_per_millisecond + 1;
    result.longest_overlap = std::max(result.longest_overlap, length);
    result.excused += overlap.excused ? 1 : 0;
    detail(overlap.excused ? "two owners, excused" : "two owners",
           fmt::format("{} and {}", describe(overlap.first, origin),
                       describe(overlap.second, origin)));
  }
  for (const auto& text : findings.tokens) {
    detail("token does not grow", text);
  }
  for (const auto& text : findings.callbacks) {
    detail("callbacks", text);
  }
  if (result.interrupted == 0 && (findings.ownerships == 0 || findings.updates == 0)) {
    result.problems.push_back(fmt::format("{}: {} ownerships and {} updates show nothing",
                                          evidence.mutex, findings.ownerships, findings.updates));
  }
  for (const auto& text : findings.complaints) {
    result.problems.push_back(fmt::format("{}: {}", evidence.mutex, text));
  }
}

/// What a failover may have forgotten of slots, it has where there may be two owners.
SlotExcuses slot_excuses_of(const Store& store, const std::vector<FaultSpan>& faults) {
  const auto owners = excuses_of(store, faults);
  SlotExcuses excuses{.forgotten = owners.periods, .longest = owners.longest, .steps = {}};
  const auto lease = std::chrono::nanoseconds{lease_times().lease()}.count();
  for (const auto& fault : faults) {
    // Who has begun a run before may come to it as long as the lease lasts.
    if (fault.steps_wall_clock && (fault.lane != -1) == store.clock_of_hosts) {
      excuses.steps.push_back({fault.begin, fault.end + lease});
    }
  }
  return excuses;
}

void add_slots(StoreResult& result, const Store& store, const RoundFiles& files,
               const Story& story) {
  const auto excuses = slot_excuses_of(store, story.faults);
  for (std::size_t i = 0; i < story.slots.size(); ++i) {
    const auto& schedule = schedules.at(i);
    SlotEvidence evidence{.schedule = schedule.name,
                          .config = schedule.config(),
                          .entries = {},
                          .history = story.slots[i].history,
                          .last_slot = story.slots[i].last_slot};
    try {
      evidence.entries = read_slot_log(files.slots(i));
    } catch (const std::exception& error) {
      result.problems.emplace_back(error.what());
      continue;
    }
    const auto findings = check_slots(evidence, excuses, story.begin);
    result.slots += static_cast<std::int64_t>(findings.slots);
    result.slot_attempts += static_cast<std::int64_t>(findings.attempts);
    result.slots_failed += static_cast<std::int64_t>(findings.failed);
    result.slots_lost += static_cast<std::int64_t>(findings.lost);
    result.slots_missed += static_cast<std::int64_t>(findings.missed);
    result.slots_refused += static_cast<std::int64_t>(findings.refused);
    result.slots_wrong += static_cast<std::int64_t>(findings.wrong.size());
    result.slots_excused += static_cast<std::int64_t>(findings.excused.size());
    for (const auto& text : findings.wrong) {
      result.details.push_back(fmt::format("{}: {}", schedule.name, text));
    }
    for (const auto& text : findings.excused) {
      result.details.push_back(fmt::format("{}: excused: {}", schedule.name, text));
    }
    if (result.interrupted == 0 && findings.attempts == 0) {
      result.problems.push_back(fmt::format("{}: no slot was begun", schedule.name));
    }
  }
}

/// All faults of one kind. Milliseconds.
struct Waits {
  std::vector<std::int64_t> after{};
  std::int64_t bound = 0;
  std::int64_t during = KindResult::never_alone;
  std::int64_t during_bound = 0;
};

void add_waits(StoreResult& result, const Store& store, const Story& story,
               const std::vector<Evidence>& evidence) {
  std::map<std::string, Waits> kinds;
  std::vector<std::vector<Ownership>> ownerships;
  std::vector<Period> locks;
  for (const auto& one : evidence) {
    for (const auto& record : one.records) {
      locks.insert(locks.end(), record.locks.begin(), record.locks.end());
    }
    ownerships.push_back(ownerships_of(one.records));
    result.longest_gap =
        std::max(result.longest_gap, longest_gap(ownerships.back()) / nanoseconds_per_millisecond);
  }
  for (auto fault : story.faults) {
    // A contender of the JVM library that is hit within a transaction has the row that all others
    // wait for, as docs/guarantees.md says.
    for (const auto& lock : locks) {
      fault.holds_up_all |= lock.begin <= fault.end && lock.end >= fault.begin;
      if (lock.begin <= fault.counts_from && fault.counts_from < lock.end) {
        fault.counts_from = lock.end;
      }
    }
    std::int64_t after = 0;
    std::int64_t during = 0;
    for (const auto& of_mutex : ownerships) {
      const auto wait =
          time_to_owner(of_mutex, fault.counts_from).value_or(story.end - fault.counts_from);
      after = std::max(after, wait / nanoseconds_per_millisecond);
      during = std::max(during, longest_gap_within(of_mutex, fault.begin, fault.end, story.end) /
                                    nanoseconds_per_millisecond);
    }
    const auto complain = [&](std::int64_t wait, std::string_view when, std::int64_t since) {
      result.details.push_back(fmt::format("nobody owned for {} ms {} '{}' ({}) of {:.3f} s", wait,
                                           when, fault.kind, fault.what,
                                           static_cast<double>(since - story.begin) / 1e9));
    };
    auto& waits = kinds[fault.kind];
    waits.after.push_back(after);
    waits.bound = fault.bound.count();
    result.longest = std::max(result.longest, after);
    if (after > waits.bound) {
      complain(after, "after", fault.counts_from);
    }
    waits.during_bound = fault.lane != -1 ? store.one_bound.count() : 0;
    if (!fault.alone || fault.holds_up_all) {
      continue;
    }
    waits.during = std::max(waits.during, during);
    if (fault.lane != -1 && during > waits.during_bound) {
      complain(during, "during", fault.begin);
    }
    if (fault.leaves_no_owner && during == 0 && result.interrupted == 0) {
      result.problems.push_back(fmt::format("'{}' had no effect", fault.kind));
    }
  }
  for (auto& [name, waits] : kinds) {
    auto& values = waits.after;
    std::sort(values.begin(), values.end());
    result.kinds.push_back(
        {.name = name,
         .count = static_cast<std::int64_t>(values.size()),
         .median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2,
         .longest = values.back(),
         .bound = waits.bound,
         .during = waits.during,
         .during_bound = waits.during_bound});
  }
}

}  // namespace

StoreResult run_round(const Store& store, const RoundSettings& settings,
                      const std::atomic<bool>& interrupted) {
  fs::create_directories(settings.folder);
  if (!fs::is_empty(settings.folder)) {
    throw std::runtime_error{fmt::format("{} is not empty", settings.folder.string())};
  }
  const RoundFiles files{fs::absolute(settings.folder)};
  StoreResult result{.store = store.name,
                     .seed = settings.seed,
                     .contenders = settings.contenders,
                     .bound = store.bound.count(),
                     .two_owners_possible = store.two_owners_possible ? 1 : 0,
                     .bound_text = store.bound_text,
                     .notes = store.notes};
  const auto story = live(store, settings, files, interrupted);
  result.seconds = (story.end - story.begin) / 1'000'000'000;
  result.processes = static_cast<std::int64_t>(story.incarnations.size());
  result.faults = static_cast<std::int64_t>(story.faults.size());
  result.problems = story.problems;
  result.interrupted = interrupted.load() ? 1 : 0;
  result.jvm = story.jvm;
  if (!story.without_jvm.empty()) {
    result.notes += fmt::format(" Without contenders of the JVM library: {}.", story.without_jvm);
  }
  if (result.faults == 0 && result.interrupted == 0) {
    result.problems.emplace_back("there was no fault");
  }
  std::vector<Evidence> evidence;
  for (std::size_t mutex = 0; mutex < mutexes.size(); ++mutex) {
    evidence.push_back(read_evidence(files, story, mutex, result.problems));
    add(result, evidence.back(), excuses_of(store, story.faults), story.begin);
  }
  add_slots(result, store, files, story);
  // They ask seldom: a short round may end before one has got the mutex.
  constexpr std::int64_t long_enough = 60;
  if (result.jvm > 0 && result.jvm_ownerships == 0 && result.seconds >= long_enough) {
    result.problems.emplace_back("no contender of the JVM library has ever owned the mutex");
  }
  add_waits(result, store, story, evidence);
  std::ofstream{files.folder / "timeline.html"}
      << timeline_page({.title = store.name,
                        .begin = story.begin,
                        .end = story.end,
                        .lanes = settings.contenders + story.jvm,
                        .jvm = story.jvm},
                       evidence, story.faults);
  return result;
}

}  // namespace simba::chaos
