#include "chaos/rounds.hpp"

#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "support/processes/child_process.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;

/// A round that goes on or is over.
struct Round {
  std::string store{};
  std::filesystem::path folder{};
  std::unique_ptr<support::ChildProcess> process{};
  bool over = false;  ///< by an earlier run
};

std::filesystem::path result_file(const std::filesystem::path& folder) { return folder / "result"; }

void start(Round& round, const CommandLine& line) {
  fmt::print(stderr, "simba-chaos: {}, seed {}, {} s ...\n", round.store, line.seed,
             line.length.count());
  round.process = std::make_unique<support::ChildProcess>(
      std::vector<std::string>{support::own_program().string(), "round", round.store,
                               std::to_string(line.length.count()), std::to_string(line.seed),
                               std::to_string(line.contenders), std::to_string(line.jvm),
                               round.folder.string(), result_file(round.folder).string(),
                               line.unsafe ? "unsafe" : "safe"},
      support::ChildProcess::Variables{});
}

StoreResult finish(Round& round, const CommandLine& line) {
  const int code = round.process ? round.process->wait() : 0;
  std::ifstream stream{result_file(round.folder)};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  return result_of(text, code, {.store = round.store, .seed = line.seed});
}

}  // namespace

StoreResult result_of(const std::string& text, int code, StoreResult unknown) {
  auto result = std::move(unknown);
  try {
    result = parse_result(text);
  } catch (const std::exception& error) {
    result.problems.emplace_back(error.what());
  }
  if (code != 0) {
    result.problems.push_back(fmt::format("the process of the round ended with {}", code));
  }
  return result;
}

std::vector<StoreResult> run_rounds(const CommandLine& line, const std::filesystem::path& folder,
                                    const std::atomic<bool>& interrupted) {
  std::vector<Round> rounds;
  for (const auto& store : line.stores) {
    rounds.push_back({.store = store, .folder = folder / store});
    rounds.back().over = line.resume && std::filesystem::exists(result_file(rounds.back().folder));
  }
  bool told = false;
  for (;;) {
    int going_on = 0;
    int waiting = 0;
    for (auto& round : rounds) {
      going_on += round.process && round.process->running() ? 1 : 0;
      waiting += round.process || round.over ? 0 : 1;
    }
    if (interrupted.load() && !told) {
      told = true;
      for (auto& round : rounds) {
        if (round.process) {
          round.process->signal(SIGTERM);
        }
      }
    }
    if (going_on == 0 && (waiting == 0 || told)) {
      break;
    }
    for (auto& round : rounds) {
      if (!round.process && !round.over && going_on < line.parallel && !told) {
        start(round, line);
        ++going_on;
      }
    }
    std::this_thread::sleep_for(20ms);
  }
  std::vector<StoreResult> results;
  for (auto& round : rounds) {
    results.push_back(round.process || round.over ? finish(round, line)
                                                  : StoreResult{.store = round.store,
                                                                .seed = line.seed,
                                                                .interrupted = 1,
                                                                .skipped = "interrupted before"});
  }
  return results;
}

}  // namespace simba::chaos
