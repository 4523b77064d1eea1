#include "chaos/result.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace simba::chaos {

namespace {

using Number = std::pair<const char*, std::int64_t StoreResult::*>;
using Text = std::pair<const char*, std::string StoreResult::*>;
using List = std::pair<const char*, std::vector<std::string> StoreResult::*>;

constexpr std::array numbers{Number{"seconds", &StoreResult::seconds},
                             Number{"contenders", &StoreResult::contenders},
                             Number{"processes", &StoreResult::processes},
                             Number{"ownerships", &StoreResult::ownerships},
                             Number{"faults", &StoreResult::faults},
                             Number{"overlaps", &StoreResult::overlaps},
                             Number{"excused", &StoreResult::excused},
                             Number{"longest-overlap", &StoreResult::longest_overlap},
                             Number{"tokens", &StoreResult::tokens},
                             Number{"callbacks", &StoreResult::callbacks},
                             Number{"updates", &StoreResult::updates},
                             Number{"refused", &StoreResult::refused},
                             Number{"lost", &StoreResult::lost},
                             Number{"jvm", &StoreResult::jvm},
                             Number{"jvm-ownerships", &StoreResult::jvm_ownerships},
                             Number{"beliefs", &StoreResult::beliefs},
                             Number{"longest-belief", &StoreResult::longest_belief},
                             Number{"slots", &StoreResult::slots},
                             Number{"slot-attempts", &StoreResult::slot_attempts},
                             Number{"slots-failed", &StoreResult::slots_failed},
                             Number{"slots-lost", &StoreResult::slots_lost},
                             Number{"slots-missed", &StoreResult::slots_missed},
                             Number{"slots-refused", &StoreResult::slots_refused},
                             Number{"slots-wrong", &StoreResult::slots_wrong},
                             Number{"slots-excused", &StoreResult::slots_excused},
                             Number{"longest", &StoreResult::longest},
                             Number{"longest-gap", &StoreResult::longest_gap},
                             Number{"bound", &StoreResult::bound},
                             Number{"two-owners-possible", &StoreResult::two_owners_possible},
                             Number{"interrupted", &StoreResult::interrupted}};
constexpr std::array texts{
    Text{"store", &StoreResult::store}, Text{"bound-text", &StoreResult::bound_text},
    Text{"notes", &StoreResult::notes}, Text{"skipped", &StoreResult::skipped}};
constexpr std::array lists{List{"problem", &StoreResult::problems},
                           List{"detail", &StoreResult::details}};

std::string one_line(std::string text) {
  for (auto& c : text) {
    c = c == '\n' ? ' ' : c;
  }
  return text;
}

bool read_line(const std::string& key, const std::string& rest, StoreResult& result) {
  for (const auto& [name, member] : numbers) {
    if (key == name) {
      result.*member = std::stoll(rest);
      return true;
    }
  }
  for (const auto& [name, member] : texts) {
    if (key == name) {
      result.*member = rest;
      return true;
    }
  }
  for (const auto& [name, member] : lists) {
    if (key == name) {
      (result.*member).push_back(rest);
      return true;
    }
  }
  if (key == "seed") {
    result.seed = std::stoull(rest);
    return true;
  }
  if (key == "kind") {
    KindResult kind;
    std::istringstream stream{rest};
    stream >> kind.count >> kind.median >> kind.longest >> kind.bound >> kind.during >>
        kind.during_bound >> std::ws;
    std::getline(stream, kind.name);
    result.kinds.push_back(kind);
    return !kind.name.empty();
  }
  return false;
}

}  // namespace

bool StoreResult::broken() const noexcept {
  const bool too_long = std::any_of(kinds.begin(), kinds.end(), [](const KindResult& kind) {
    return kind.during_bound > 0 && kind.during > kind.during_bound;
  });
  const bool empty = skipped.empty() && interrupted == 0 &&
                     (ownerships == 0 || updates == 0 || slots == 0 || faults == 0);
  return too_long || empty || unsafe() || longest > bound || !problems.empty();
}

bool StoreResult::unsafe() const noexcept {
  return overlaps > excused || tokens > 0 || callbacks > 0 || lost > 0 || slots_wrong > 0;
}

std::string to_text(const StoreResult& result) {
  std::string text = fmt::format("seed {}\n", result.seed);
  for (const auto& [name, member] : numbers) {
    text += fmt::format("{} {}\n", name, result.*member);
  }
  for (const auto& [name, member] : texts) {
    text += fmt::format("{} {}\n", name, one_line(result.*member));
  }
  for (const auto& [name, member] : lists) {
    for (const auto& entry : result.*member) {
      text += fmt::format("{} {}\n", name, one_line(entry));
    }
  }
  for (const auto& kind : result.kinds) {
    text += fmt::format("kind {} {} {} {} {} {} {}\n", kind.count, kind.median, kind.longest,
                        kind.bound, kind.during, kind.during_bound, kind.name);
  }
  return text;
}

StoreResult parse_result(const std::string& text) {
  StoreResult result;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) {
    const auto space = line.find(' ');
    const auto rest = space == std::string::npos ? std::string{} : line.substr(space + 1);
    if (!read_line(line.substr(0, space), rest, result)) {
      throw std::runtime_error{fmt::format("a result has the line '{}'", line)};
    }
  }
  if (result.store.empty()) {
    throw std::runtime_error{"a result names no store"};
  }
  return result;
}

}  // namespace simba::chaos
