// Brings chaos to real servers and checks what the library promises: see usage_text.
//
//   simba-chaos contender ...   one of the processes that contend, for simba-chaos itself
//   simba-chaos round ...       the round on one store, likewise
//   simba-chaos jvm-on-mysql ...   a contender of the JVM library, likewise
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <vector>

#include <fmt/format.h>

#include "chaos/command_line.hpp"
#include "chaos/contenders/contender.hpp"
#include "chaos/jvm/jvm_on_mysql.hpp"
#include "chaos/report.hpp"
#include "chaos/round.hpp"
#include "chaos/rounds.hpp"
#include "chaos/servers/stores.hpp"
#include "simba/core/error.hpp"
#include "support/missing_server.hpp"
#include "support/safety.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace simba::chaos;
using Words = std::vector<std::string>;

constexpr int exit_broken = 1;
constexpr int exit_usage = 2;
constexpr int exit_missing = 77;
constexpr int exit_interrupted = 130;

std::atomic<bool> interrupted{false};

void listen_for_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ::signal(signal, [](int) { interrupted.store(true); });
  }
}

int contender(const Words& words) {
  return run_contender({.files = {words.at(1)},
                        .which = {.lane = std::stoi(words.at(2)), .life = std::stoi(words.at(3))},
                        .seed = std::stoull(words.at(4)),
                        .url = words.at(5),
                        .store_clocks = words.at(6)});
}

/// Its own process, so that it ends when the one that started it does, however that happens.
int round(const Words& words) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  auto stores = all_stores();
  const auto store = std::find_if(stores.begin(), stores.end(),
                                  [&](const Store& one) { return one.name == words.at(1); });
  const bool unsafe = words.at(8) == "unsafe";
  if (unsafe) {
    make_unsafe(*store);
  }
  StoreResult result{.store = words.at(1), .seed = std::stoull(words.at(3))};
  try {
    result = run_round(*store,
                       {.length = std::chrono::seconds{std::stoll(words.at(2))},
                        .seed = result.seed,
                        .contenders = std::stoi(words.at(4)),
                        .jvm = unsafe ? 0 : std::stoi(words.at(5)),
                        .folder = words.at(6)},
                       interrupted);
  } catch (const std::exception& error) {
    const auto* const ours = dynamic_cast<const simba::Error*>(&error);
    if (simba::support::is_missing_server(error) ||
        (ours != nullptr && ours->kind() == simba::ErrorKind::unsupported)) {
      result.skipped = error.what();
    } else {
      result.problems.emplace_back(error.what());
    }
  }
  std::ofstream file{words.at(7)};
  file << to_text(result);
  return file.flush() ? EXIT_SUCCESS : exit_broken;
}

void list() {
  for (const auto& store : all_stores()) {
    fmt::print("{}\n", store.name);
    for (const auto& kind : store.faults) {
      fmt::print("  {}\n", kind.name);
    }
    fmt::print("  ({})\n", store.notes);
  }
}

int exit_code(const std::vector<StoreResult>& results) {
  const auto any = [&](auto condition) {
    return std::any_of(results.begin(), results.end(), condition);
  };
  if (any([](const StoreResult& result) { return result.broken(); })) {
    return exit_broken;
  }
  if (interrupted.load()) {
    return exit_interrupted;
  }
  return any([](const StoreResult& result) { return !result.skipped.empty(); }) ? exit_missing
                                                                                : EXIT_SUCCESS;
}

/// Keeps of a folder that will vanish, and that may be in memory, what shows a broken promise.
/// Returns where that is.
std::filesystem::path keep_broken(const std::filesystem::path& passing,
                                  const std::vector<StoreResult>& results) {
  namespace fs = std::filesystem;
  const auto kept = fs::temp_directory_path() / (passing.filename().string() + "-broken");
  fs::create_directory(kept);
  for (const auto& result : results) {
    if (result.broken() && fs::exists(passing / result.store)) {
      fs::copy(passing / result.store, kept / result.store, fs::copy_options::recursive);
    }
  }
  return kept;
}

int run(const CommandLine& line) {
  listen_for_interrupts();
  std::optional<simba::support::TemporaryFolder> passing;
  const auto folder = line.out.empty() ? passing.emplace().path() : line.out;
  for (const auto& store : line.stores) {
    if (!line.resume && std::filesystem::exists(folder / store) &&
        !std::filesystem::is_empty(folder / store)) {
      throw UsageError{fmt::format("--out: {} is not empty", (folder / store).string())};
    }
  }
  const auto results = run_rounds(line, folder, interrupted);
  fmt::print("{}", as_table(results));
  if (!line.report.empty()) {
    std::ofstream file{line.report};
    file << as_markdown(results);
    if (!file.flush()) {
      throw UsageError{fmt::format("--report: {} cannot be written", line.report.string())};
    }
  }
  const auto code = exit_code(results);
  if (code == exit_broken) {
    const auto kept = passing ? keep_broken(folder, results) : folder;
    for (const auto& result : results) {
      if (result.broken()) {
        fmt::print("\n{}{}: timeline.html, records and logs are in {}\n",
                   result.unsafe() ? simba::support::safety_violation : "", result.store,
                   (kept / result.store).string());
      }
    }
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const Words words{argv + 1, argv + argc};
  try {
    if (words.size() == 7 && words[0] == "contender") {
      return contender(words);
    }
    if (!words.empty() && words[0] == "jvm-on-mysql") {
      return run_jvm_on_mysql({words.begin() + 1, words.end()});
    }
    if (words.size() == 9 && words[0] == "round") {
      listen_for_interrupts();
      return round(words);
    }
    Words known;
    Words fetched;
    for (const auto& store : all_stores()) {
      (store.fetched ? fetched : known).push_back(store.name);
    }
    const auto line = parse_command_line(words, known, fetched);
    switch (line.action) {
      case CommandLine::Action::list:
        list();
        return EXIT_SUCCESS;
      case CommandLine::Action::help:
        fmt::print("{}", usage_text());
        return EXIT_SUCCESS;
      case CommandLine::Action::run:
        return run(line);
    }
  } catch (const UsageError& error) {
    fmt::print(stderr, "simba-chaos: {}\n\n{}", error.what(), usage_text());
    return exit_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "simba-chaos: {}\n", error.what());
    return exit_broken;
  }
  return exit_usage;
}
