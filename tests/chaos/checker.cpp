#include "chaos/checker.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace simba::chaos {

namespace {

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

}  // namespace

std::string describe(const Ownership& ownership, std::int64_t origin) {
  return fmt::format("{} token {} from {:.4f} to {:.4f} s", ownership.who, ownership.token,
                     seconds(ownership.begin - origin), seconds(ownership.end - origin));
}

std::vector<Ownership> ownerships_of(const std::vector<Record>& records) {
  std::vector<Ownership> all;
  for (const auto& record : records) {
    std::map<std::uint64_t, Ownership> by_token;
    for (const auto& one : record.ownerships) {
      auto& merged = by_token.try_emplace(one.token, one).first->second;
      merged.begin = std::min(merged.begin, one.begin);
      merged.end = std::max(merged.end, one.end);
    }
    for (const auto& entry : by_token) {
      all.push_back(entry.second);
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return all;
}

std::vector<Overlap> find_overlaps(const std::vector<Ownership>& ownerships) {
  std::vector<Overlap> found;
  const Ownership* latest = nullptr;  // of those so far, the one that ends last
  for (const auto& one : ownerships) {
    if (latest != nullptr && one.begin < latest->end) {
      found.push_back({*latest, one, std::min(latest->end, one.end) - one.begin});
    }
    if (latest == nullptr || one.end > latest->end) {
      latest = &one;
    }
  }
  return found;
}

std::vector<std::string> find_wrong_tokens(const std::vector<Ownership>& ownerships,
                                           std::int64_t origin) {
  std::vector<std::string> found;
  const Ownership* highest = nullptr;
  for (const auto& one : ownerships) {
    if (highest != nullptr && one.token <= highest->token) {
      found.push_back(
          fmt::format("{} after {}", describe(one, origin), describe(*highest, origin)));
    } else {
      highest = &one;
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
  for (const auto& call : record.callbacks) {
    const auto* const name = call.kind == Callback::Kind::acquired ? "on_acquired" : "on_released";
    if (call.kind != expected) {
      found.push_back(fmt::format("{}: {} twice in a row, the second at {:.4f} s", record.who, name,
                                  seconds(call.at - origin)));
    }
    expected =
        call.kind == Callback::Kind::acquired ? Callback::Kind::released : Callback::Kind::acquired;
  }
  return found;
}

Findings check(const Evidence& evidence, std::int64_t origin) {
  Findings findings;
  const auto ownerships = ownerships_of(evidence.records);
  findings.ownerships = ownerships.size();
  findings.overlaps = find_overlaps(ownerships);
  findings.tokens = find_wrong_tokens(ownerships, origin);
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
