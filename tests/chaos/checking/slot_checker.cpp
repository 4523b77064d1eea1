#include "chaos/checking/slot_checker.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "chaos/checking/checker.hpp"

namespace simba::chaos {

namespace {

/// Which attempt of which slot: its number and its attempt.
using Which = std::pair<std::uint64_t, int>;

/// A run, as its worker tells.
struct LoggedRun {
  SlotEntry begin{};
  std::int64_t held = 0;  // the lease lasted until then for certain
  std::optional<SlotEntry> end{};
  bool refused = false;  // by its token
};

class Judge {
 public:
  Judge(const SlotEvidence& evidence, const SlotExcuses& excuses, std::int64_t origin)
      : evidence_{evidence}, excuses_{excuses}, origin_{origin} {}

  SlotFindings judge() {
    read_log();
    find_repeated();
    find_out_of_order();
    find_overlaps();
    find_early();
    find_untrue_history();
    if (evidence_.config.slots.promise == SlotPromise::at_least_once) {
      find_begun_after_success();
      find_dropped();
    }
    find_unknown_to_the_store();
    count();
    return std::move(findings_);
  }

 private:
  static Which which(const SlotEntry& entry) { return {entry.number, entry.attempt}; }

  std::string describe(const SlotEntry& entry) const {
    return fmt::format("slot {} number {} attempt {} by {} with token {} at {:.4f} s", entry.slot,
                       entry.number, entry.attempt, entry.who, entry.token,
                       seconds(entry.at - origin_));
  }

  bool may_be_forgotten(std::int64_t moment) const { return contains(excuses_.forgotten, moment); }

  static bool contains(const std::vector<Period>& periods, std::int64_t moment) {
    return std::any_of(periods.begin(), periods.end(), [&](const Period& period) {
      return period.begin <= moment && moment <= period.end;
    });
  }

  void found(bool excused, std::string text) {
    (excused ? findings_.excused : findings_.wrong).push_back(std::move(text));
  }

  void read_log() {
    std::uint64_t highest = 0;
    for (const auto& entry : evidence_.entries) {
      if (entry.kind == SlotEntry::Kind::begins) {
        runs_.push_back({entry, entry.at, std::nullopt, entry.token < highest});
        highest = std::max(highest, entry.token);
        continue;
      }
      const auto run = std::find_if(runs_.rbegin(), runs_.rend(), [&](const LoggedRun& one) {
        return which(one.begin) == which(entry) && one.begin.who == entry.who;
      });
      if (run == runs_.rend()) {
        found(false, "no begin of " + describe(entry));
      } else if (entry.kind == SlotEntry::Kind::lasts) {
        run->held = std::max(run->held, entry.at);
      } else {
        run->end = entry;
      }
    }
  }

  /// An attempt that begins twice, and with `at_most_once` a second attempt.
  void find_repeated() {
    std::map<Which, const SlotEntry*> seen;
    std::map<std::int64_t, const SlotEntry*> times;
    const bool once = evidence_.config.slots.promise == SlotPromise::at_most_once;
    for (const auto& run : runs_) {
      const auto& begin = run.begin;
      const auto [same, is_new] =
          seen.try_emplace({begin.number, once ? 1 : begin.attempt}, &begin);
      const auto [at_time, is_new_time] = times.try_emplace(begin.slot, &begin);
      if (!is_new || (once && !is_new_time)) {
        found(false,
              fmt::format("begun twice: {}, and {}",
                          describe(is_new ? *at_time->second : *same->second), describe(begin)));
      }
    }
  }

  /// By current tokens: one that comes too late may come in any order.
  void find_out_of_order() {
    const SlotEntry* before = nullptr;
    for (const auto& run : runs_) {
      if (run.refused) {
        continue;
      }
      const auto& begin = run.begin;
      if (before != nullptr) {
        const bool next = begin.number > before->number && begin.slot > before->slot;
        const bool again = begin.number == before->number && begin.slot == before->slot &&
                           begin.attempt >= before->attempt;  // equal: see find_repeated
        if (!next && !again) {
          found(false,
                fmt::format("out of order: {}, after {}", describe(begin), describe(*before)));
        }
      }
      before = &begin;
    }
  }

  void find_overlaps() {
    for (std::size_t i = 1; i < runs_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const auto& a = runs_[i];
        const auto& b = runs_[j];
        const auto begin = std::max(a.begin.at, b.begin.at);
        const auto length = std::min(a.held, b.held) - begin;
        if (length > 0) {
          found(may_be_forgotten(begin) && length <= excuses_.longest,
                fmt::format("two runs for {:.4f} s: {}, and {}", seconds(length), describe(b.begin),
                            describe(a.begin)));
        }
      }
    }
  }

  void find_early() {
    for (const auto& run : runs_) {
      if (run.begin.wall < run.begin.slot && !contains(excuses_.steps, run.begin.at)) {
        found(false, fmt::format("begun {} ms before its time: {}", run.begin.slot - run.begin.wall,
                                 describe(run.begin)));
      }
    }
  }

  void find_untrue_history() {
    for (const auto& report : evidence_.history) {
      const Which one{report.number, report.attempt};
      const bool ended_well = std::any_of(runs_.begin(), runs_.end(), [&](const LoggedRun& run) {
        return which(run.begin) == one && run.end && run.end->kind == SlotEntry::Kind::ends;
      });
      if (report.outcome == RunOutcome::succeeded && !ended_well) {
        found(false, fmt::format("the store says that number {} attempt {} by {} succeeded, but "
                                 "its worker does not",
                                 report.number, report.attempt, report.contender_id));
      }
    }
  }

  void find_begun_after_success() {
    for (const auto& report : evidence_.history) {
      for (const auto& run : runs_) {
        if (report.outcome == RunOutcome::succeeded && run.begin.number == report.number &&
            run.begin.attempt > report.attempt) {
          found(may_be_forgotten(run.begin.at),
                fmt::format("begun although attempt {} is known to have succeeded: {}",
                            report.attempt, describe(run.begin)));
        }
      }
    }
  }

  /// A slot that was begun must end well or use up its attempts before the next one begins.
  void find_dropped() {
    const int most = evidence_.config.slots.max_attempts;
    std::set<std::uint64_t> over;
    std::uint64_t last = 0;
    for (const auto& report : evidence_.history) {
      last = std::max(last, report.number);
      if (report.attempt >= most || report.outcome == RunOutcome::succeeded) {
        over.insert(report.number);
      }
    }
    for (const auto& run : runs_) {
      last = std::max(last, run.begin.number);
      const bool ended_well = run.end && run.end->kind == SlotEntry::Kind::ends;
      if (ended_well || run.begin.attempt >= most) {
        over.insert(run.begin.number);
      }
    }
    std::set<std::uint64_t> told;
    for (const auto& run : runs_) {
      const auto number = run.begin.number;
      if (number == last || over.contains(number) || !told.insert(number).second) {
        continue;
      }
      found(false, "neither ended well nor repeated: " + describe(run.begin));
    }
  }

  void find_unknown_to_the_store() {
    if (runs_.empty()) {
      return;
    }
    const auto last =
        std::max_element(runs_.begin(), runs_.end(),
                         [](const auto& a, const auto& b) { return a.begin.slot < b.begin.slot; });
    const auto known = evidence_.last_slot
                           ? std::optional{evidence_.last_slot->time_since_epoch().count()}
                           : std::nullopt;
    if (!known || *known < last->begin.slot) {
      found(false, fmt::format("the store knows of slots up to {} only, not of {}",
                               known.value_or(0), describe(last->begin)));
    }
  }

  void count() {
    std::set<std::uint64_t> numbers;
    std::set<std::int64_t> times;
    for (const auto& run : runs_) {
      numbers.insert(run.begin.number);
      times.insert(run.begin.slot);
      findings_.failed += run.end && run.end->kind == SlotEntry::Kind::fails ? 1U : 0U;
      findings_.refused += run.refused ? 1U : 0U;
    }
    std::set<Which> lost;
    for (const auto& report : evidence_.history) {
      numbers.insert(report.number);
      if (report.outcome == RunOutcome::lost) {
        lost.insert({report.number, report.attempt});
      }
    }
    findings_.slots = numbers.size();
    findings_.attempts = runs_.size();
    findings_.lost = lost.size();
    const auto period = evidence_.config.period / std::chrono::milliseconds{1};
    if (!times.empty() && period > 0) {
      const auto all = static_cast<std::uint64_t>((*times.rbegin() - *times.begin()) / period) + 1;
      findings_.missed = all - std::min<std::uint64_t>(all, times.size());
    }
  }

  const SlotEvidence& evidence_;
  const SlotExcuses& excuses_;
  const std::int64_t origin_;
  std::vector<LoggedRun> runs_;
  SlotFindings findings_;
};

}  // namespace

SlotFindings check_slots(const SlotEvidence& evidence, const SlotExcuses& excuses,
                         std::int64_t origin) {
  return Judge{evidence, excuses, origin}.judge();
}

}  // namespace simba::chaos
