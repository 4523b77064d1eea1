#include "chaos/checking/checker.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace simba::chaos {

namespace {

bool is_within(const std::vector<Period>& periods, std::int64_t moment) {
  return std::any_of(periods.begin(), periods.end(), [&](const Period& period) {
    return period.begin <= moment && moment <= period.end;
  });
}

}  // namespace

std::string describe(const Ownership& ownership, std::int64_t origin) {
  return fmt::format("{} {} {} from {:.4f} to {:.4f} s", ownership.who,
                     ownership.jvm ? "number" : "token", ownership.token,
                     seconds(ownership.begin - origin), seconds(ownership.end - origin));
}

std::vector<Ownership> ownerships_of(const std::vector<Record>& records) {
  std::vector<Ownership> all;
  for (const auto& record : records) {
    std::map<std::uint64_t, Ownership> by_token;
    for (const auto& one : record.ownerships) {
      if (one.jvm) {  // whole already; its number may come again after a gap
        all.push_back(one);
        continue;
      }
      auto& merged = by_token.try_emplace(one.token, one).first->second;
      merged.begin = std::min(merged.begin, one.begin);
      merged.end = std::max(merged.end, one.end);
      merged.believed = std::max(merged.believed, one.believed);
    }
    for (const auto& entry : by_token) {
      all.push_back(entry.second);
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return all;
}

std::vector<Overlap> find_overlaps(const std::vector<Ownership>& ownerships,
                                   const Excuses& excuses) {
  std::vector<Overlap> found;
  const Ownership* latest = nullptr;  // of those so far, the one that ends last
  for (const auto& one : ownerships) {
    const auto length = latest == nullptr ? 0 : std::min(latest->end, one.end) - one.begin;
    if (length > 0) {
      const bool excused = (length <= excuses.longest || latest->jvm || one.jvm) &&
                           is_within(excuses.periods, one.begin);
      found.push_back({*latest, one, length, excused});
    }
    if (latest == nullptr || one.end > latest->end) {
      latest = &one;
    }
  }
  return found;
}

std::vector<std::string> find_wrong_tokens(const std::vector<Ownership>& ownerships,
                                           const std::vector<Overlap>& overlaps,
                                           std::int64_t origin) {
  const auto same = [](const Ownership& a, const Ownership& b) {
    return a.who == b.who && a.token == b.token;
  };
  std::vector<std::string> found;
  for (auto one = ownerships.begin(); one != ownerships.end(); ++one) {
    if (one->jvm) {
      continue;
    }
    const auto pair = std::find_if(overlaps.begin(), overlaps.end(), [&](const Overlap& overlap) {
      return overlap.excused && same(overlap.second, *one);
    });
    const Ownership* highest = nullptr;  // of those before it
    for (auto before = ownerships.begin(); before != one; ++before) {
      const bool counts = !before->jvm && (pair == overlaps.end() || !same(pair->first, *before) ||
                                           before->token == one->token);
      if (counts && (highest == nullptr || before->token > highest->token)) {
        highest = &*before;
      }
    }
    if (highest != nullptr && one->token <= highest->token) {
      found.push_back(
          fmt::format("{} after {}", describe(*one, origin), describe(*highest, origin)));
    }
  }
  return found;
}

std::vector<Overlap> find_beliefs(const std::vector<Ownership>& ownerships) {
  std::vector<Overlap> found;
  for (const auto& one : ownerships) {
    for (const auto& other : ownerships) {
      const auto length =
          std::min(one.believed, other.end) - std::max({one.begin, one.end, other.begin});
      if (one.jvm && &one != &other && length > 0) {
        found.push_back({one, other, length, true});
      }
    }
  }
  return found;
}

std::optional<std::int64_t> time_to_owner(const std::vector<Ownership>& ownerships,
                                          std::int64_t moment) {
  std::optional<std::int64_t> shortest;
  for (const auto& one : ownerships) {
    if (one.end >= moment) {
      const auto wait = std::max(one.begin, moment) - moment;
      shortest = std::min(shortest.value_or(wait), wait);
    }
  }
  return shortest;
}

std::int64_t longest_gap_within(const std::vector<Ownership>& ownerships, std::int64_t begin,
                                std::int64_t end, std::int64_t last) {
  std::int64_t longest = 0;
  auto free_from = begin;  // nobody owned from then on, as far as is known
  for (const auto& one : ownerships) {
    if (free_from > end) {
      return longest;
    }
    longest = std::max(longest, one.begin - free_from);
    free_from = std::max(free_from, one.end);
  }
  return free_from > end ? longest : std::max(longest, last - free_from);
}

std::int64_t longest_gap(const std::vector<Ownership>& ownerships) {
  std::int64_t longest = 0;
  for (std::size_t i = 1, latest = 0; i < ownerships.size(); ++i) {
    longest = std::max(longest, ownerships[i].begin - ownerships[latest].end);
    latest = ownerships[i].end > ownerships[latest].end ? i : latest;
  }
  return longest;
}

std::vector<std::string> find_wrong_callbacks(const Record& record, std::int64_t origin) {
  std::vector<std::string> found;
  auto expected = Callback::Kind::acquired;
  std::optional<std::int64_t> stopped;  // since when
  for (const auto& call : record.callbacks) {
    if (call.kind == Callback::Kind::starting) {
      stopped.reset();
      continue;
    }
    if (call.kind == Callback::Kind::stopped) {
      stopped = call.at;
      continue;
    }
    if (call.kind == Callback::Kind::releasing) {
      continue;
    }
    const bool acquired = call.kind == Callback::Kind::acquired;
    const auto* const name = acquired ? "on_acquired" : "on_released";
    if (call.kind != expected) {
      found.push_back(fmt::format("{}: {} twice in a row, the second at {:.4f} s", record.who, name,
                                  seconds(call.at - origin)));
    }
    // One that began before may be written down after.
    if (stopped && call.at > *stopped) {
      found.push_back(fmt::format("{}: {} at {:.4f} s, after stop() had returned", record.who, name,
                                  seconds(call.at - origin)));
    }
    expected = acquired ? Callback::Kind::released : Callback::Kind::acquired;
  }
  return found;
}

std::vector<std::string> find_early_callbacks(const std::vector<Record>& records,
                                              const std::vector<Period>& excuses,
                                              std::int64_t origin) {
  struct Call {
    const Record* record = nullptr;
    Callback callback{};
  };
  std::vector<Call> acquired;
  std::vector<Call> releasing;
  for (const auto& record : records) {
    for (const auto& call : record.callbacks) {
      if (call.kind == Callback::Kind::acquired) {
        acquired.push_back({&record, call});
      } else if (call.kind == Callback::Kind::releasing) {
        releasing.push_back({&record, call});
      }
    }
  }
  std::vector<std::string> found;
  for (const auto& [releaser, release] : releasing) {
    for (const auto& [acquirer, call] : acquired) {
      if (call.token > release.token && call.at < release.at && !is_within(excuses, call.at)) {
        found.push_back(fmt::format(
            "{}: on_acquired of token {} at {:.4f} s, before on_released of {} by {} had returned",
            acquirer->who, call.token, seconds(call.at - origin), release.token, releaser->who));
      }
    }
  }
  return found;
}

Findings check(const Evidence& evidence, const Excuses& excuses, std::int64_t origin) {
  Findings findings;
  const auto ownerships = ownerships_of(evidence.records);
  findings.jvm_ownerships = static_cast<std::size_t>(std::count_if(
      ownerships.begin(), ownerships.end(), [](const Ownership& one) { return one.jvm; }));
  findings.ownerships = ownerships.size() - findings.jvm_ownerships;
  findings.beliefs = find_beliefs(ownerships);
  findings.overlaps = find_overlaps(ownerships, excuses);
  findings.tokens = find_wrong_tokens(ownerships, findings.overlaps, origin);
  findings.callbacks = find_early_callbacks(evidence.records, excuses.periods, origin);
  for (const auto& record : evidence.records) {
    for (auto& text : find_wrong_callbacks(record, origin)) {
      findings.callbacks.push_back(std::move(text));
    }
    for (const auto& text : record.complaints) {
      findings.complaints.push_back(fmt::format("{}: {}", record.who, text));
    }
  }
  FencedState state;
  for (const auto& use : evidence.uses) {
    state.apply(use);
  }
  findings.updates = state.taken();
  findings.refused = state.refused();
  findings.lost = state.lost();
  return findings;
}

}  // namespace simba::chaos
