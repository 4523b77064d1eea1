#include "chaos/report.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace simba::chaos {

namespace {

using Row = std::vector<std::string>;

std::string in_seconds(std::int64_t milliseconds) {
  return fmt::format("{:.2f} s", static_cast<double>(milliseconds) / 1e3);
}

std::string verdict(const StoreResult& result) {
  if (!result.skipped.empty()) {
    return "not run";
  }
  if (result.broken()) {
    return "BROKEN";
  }
  return result.interrupted != 0 ? "clean, cut short" : "clean";
}

std::string number_of_overlaps(const StoreResult& result) {
  if (result.two_owners_possible == 0) {
    return std::to_string(result.overlaps);
  }
  return result.overlaps == 0
             ? "0 (allowed at failovers)"
             : fmt::format("{} ({} at a failover, allowed), longest {} ms", result.overlaps,
                           result.excused, result.longest_overlap);
}

std::vector<Row> store_rows(const std::vector<StoreResult>& results) {
  std::vector<Row> rows{{"store", "seconds", "seed", "processes", "ownerships", "faults",
                         "two owners", "tokens out of order", "callbacks wrong", "updates",
                         "refused by token", "lost", "slots wrong",
                         "longest without owner during faults", "after them", "bound", "verdict"}};
  for (const auto& result : results) {
    rows.push_back({result.store, std::to_string(result.seconds), std::to_string(result.seed),
                    std::to_string(result.processes), std::to_string(result.ownerships),
                    std::to_string(result.faults), number_of_overlaps(result),
                    std::to_string(result.tokens), std::to_string(result.callbacks),
                    std::to_string(result.updates), std::to_string(result.refused),
                    std::to_string(result.lost), std::to_string(result.slots_wrong),
                    in_seconds(result.longest_gap), in_seconds(result.longest),
                    in_seconds(result.bound), verdict(result)});
  }
  return rows;
}

std::vector<Row> kind_rows(const StoreResult& result) {
  std::vector<Row> rows{{"fault", "times", "longest without owner during it", "bound",
                         "after it: median", "longest", "bound"}};
  for (const auto& kind : result.kinds) {
    rows.push_back({kind.name, std::to_string(kind.count),
                    kind.during == KindResult::never_alone ? "" : in_seconds(kind.during),
                    kind.during_bound > 0 ? in_seconds(kind.during_bound) : "none",
                    in_seconds(kind.median), in_seconds(kind.longest), in_seconds(kind.bound)});
  }
  return rows;
}

/// Columns one below the other.
std::string aligned(const std::vector<Row>& rows, const std::string& indent) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    text += line + '\n';
  }
  return text;
}

std::string markdown(const std::vector<Row>& rows) {
  std::string text;
  for (const auto& row : rows) {
    text += "|";
    for (const auto& cell : row) {
      text += " " + cell + " |";
    }
    text += '\n';
    if (&row == &rows.front()) {
      text += "|---|";
      for (std::size_t i = 1; i < row.size(); ++i) {
        text += "---:|";
      }
      text += '\n';
    }
  }
  return text;
}

/// What there is to say of a round beside numbers, a line each.
std::vector<std::string> remarks(const StoreResult& result) {
  std::vector<std::string> lines;
  if (!result.skipped.empty()) {
    return {"Not run: " + result.skipped};
  }
  lines.push_back("Bound after a fault: " + result.bound_text + ".");
  lines.push_back(
      "Time during a fault lasts from the start of the fault, or from the end of an ownership "
      "within it, to the next owner. It has a bound where only one contender is hit: the others "
      "are well, so it is the bound after a fault, without the extra lease or session that some "
      "stores have there. Faults injected two at a time are left out.");
  if (!result.notes.empty()) {
    lines.push_back(result.notes);
  }
  lines.push_back(fmt::format(
      "Slots of two shared schedules: {} begun, in {} attempts, of which {} failed, {} were lost "
      "with their process or its lease, and {} came with an old token; {} did not happen, because "
      "nobody led, the store was broken or a run was not over. Not as promised: {}{}.",
      result.slots, result.slot_attempts, result.slots_failed, result.slots_lost,
      result.slots_refused, result.slots_missed, result.slots_wrong,
      result.slots_excused == 0
          ? ""
          : fmt::format("; allowed after a failover, as documented: {}", result.slots_excused)));
  if (result.jvm > 0) {
    lines.push_back(fmt::format(
        "Beside {} contenders of the JVM library. The server granted them the mutex {} times, and "
        "these ownerships count like ours, up to the end of their lease. They do not time their "
        "lease: they still considered themselves the owner {} times after another had been let "
        "in, for at most {}, which is documented and does not fail the run.",
        result.jvm, result.jvm_ownerships, result.beliefs, in_seconds(result.longest_belief)));
  }
  for (const auto& problem : result.problems) {
    lines.push_back("PROBLEM: " + problem);
  }
  for (const auto& detail : result.details) {
    lines.push_back((result.broken() ? "BROKEN: " : "Seen: ") + detail);
  }
  return lines;
}

}  // namespace

std::string as_table(const std::vector<StoreResult>& results) {
  auto text = aligned(store_rows(results), "");
  for (const auto& result : results) {
    text += fmt::format("\n{}\n", result.store);
    if (!result.kinds.empty()) {
      text += aligned(kind_rows(result), "  ");
    }
    for (const auto& line : remarks(result)) {
      text += fmt::format("  {}\n", line);
    }
  }
  return text;
}

std::string as_markdown(const std::vector<StoreResult>& results) {
  auto text = markdown(store_rows(results));
  for (const auto& result : results) {
    text += fmt::format("\n### {}\n\n", result.store);
    if (!result.kinds.empty()) {
      text += markdown(kind_rows(result)) + '\n';
    }
    for (const auto& line : remarks(result)) {
      text += fmt::format("- {}\n", line);
    }
  }
  return text;
}

}  // namespace simba::chaos
