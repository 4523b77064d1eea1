#include "soak/outcome.hpp"

#include <fmt/format.h>

namespace simba::soak {
namespace {

std::string mebibytes(const Thirds& thirds) {
  if (!thirds.known) return "?";
  return fmt::format("{:.1f} / {:.1f}", static_cast<double>(thirds.first) / 1'024,
                     static_cast<double>(thirds.last) / 1'024);
}

std::string counts(const Thirds& thirds) {
  return thirds.known ? fmt::format("{} / {}", thirds.first, thirds.last) : "?";
}

std::string grew(const char* who, const Judged& process) {
  return fmt::format("{} grew: memory {} MiB, threads {}, descriptors {}\n", who,
                     mebibytes(process.memory), counts(process.threads),
                     counts(process.descriptors));
}

std::string in_words(const Growth& growth, const char* unit) {
  if (growth.percent == 0 && growth.more == 0) return "at all";
  return fmt::format("by more than {} % + {}{}", growth.percent, growth.more, unit);
}

std::string in_words(const Rule& rule) {
  return fmt::format("in memory {}, in threads or descriptors {}", in_words(rule.memory, " KiB"),
                     in_words(rule.count, ""));
}

void judge_processes(const Outcome& outcome, std::string& text) {
  for (const Judged& worker : outcome.workers) {
    if (!worker.flat(worker_rule)) text += grew("a worker", worker);
  }
  if (outcome.server && !outcome.server->flat(server_rule)) {
    text += grew("the server", *outcome.server);
  }
}

}  // namespace

std::string verdict(const Outcome& outcome, const Options& options) {
  std::string text = outcome.faults;
  if (outcome.interrupted) return text + "it was interrupted\n";
  if (outcome.ownerships == 0) text += "nobody owned anything\n";
  if (outcome.kills == 0) text += "nobody was killed\n";
  if (outcome.never_owned > 0) {
    text += fmt::format("{} mutexes never had an owner\n", outcome.never_owned);
  }
  if (outcome.left_held > 0) text += fmt::format("{} mutexes are left held\n", outcome.left_held);
  if (outcome.left_connections > 0) {
    text += fmt::format("{} connections are left\n", outcome.left_connections);
  }
  if (options.judges_flatness()) judge_processes(outcome, text);
  return text;
}

std::string report(const Outcome& outcome, const Options& options) {
  const Judged server = outcome.server.value_or(Judged{});
  const std::string wrong = verdict(outcome, options);
  const char* const word =
      outcome.interrupted ? "interrupted" : (wrong.empty() ? "**good**" : "**bad**");
  std::string text =
      "| store | mutexes | processes | seconds | ownerships | ownerships/s | lost | kills | stops "
      "| worker MiB | worker threads | worker descriptors | server MiB | server threads | server "
      "descriptors | server connections | left held | verdict |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  text += fmt::format(
      "| {} | {} | {} | {:.0f} | {} | {:.0f} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | "
      "{} | {} |\n",
      outcome.store, options.mutexes, options.processes, outcome.seconds, outcome.ownerships,
      static_cast<double>(outcome.ownerships) / outcome.seconds, outcome.losses, outcome.kills,
      outcome.stops, mebibytes(worst(outcome.workers, &Judged::memory)),
      counts(worst(outcome.workers, &Judged::threads)),
      counts(worst(outcome.workers, &Judged::descriptors)), mebibytes(server.memory),
      counts(server.threads), counts(server.descriptors),
      counts(outcome.connections.value_or(Thirds{})), outcome.left_held, word);
  text += fmt::format(
      "\nPairs are the first and the last third; of the {} workers that are never killed, the one "
      "that grew most. Seed {}.\n"
      "Rule: after a warm-up of a sixth of the time, the median of the last third is not above "
      "that of the first: of a worker {}; of the server {} (it has some for each connection, and a "
      "worker that has just begun has fewer).\n"
      "Left held: what has an owner {} ms after all workers have stopped. A lease lasts {} ms, and "
      "nobody is killed within the last one.\n",
      outcome.workers.size(), options.seed, in_words(worker_rule), in_words(server_rule),
      options.release_bound().count(), (options.ttl() + options.transition()).count());
  if (!options.judges_flatness()) {
    text += "Not judged here: flatness, for which less than 60 s are too short.\n";
  }
  if (!wrong.empty()) text += "\nWrong:\n" + wrong;
  return text;
}

}  // namespace simba::soak
