#include "sim/command.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <sched.h>

#include <fmt/format.h>

#include "sim/play.hpp"
#include "sim/trace.hpp"
#include "support/safety.hpp"

namespace simba::sim {
namespace {

constexpr const char* usage =
    "usage: simba-sim --seed N [--trace]\n"
    "       simba-sim --hours H [--first-seed S] [--report FILE]\n"
    "       simba-sim --hunt SECONDS [--first-seed S]\n"
    "       simba-sim --help\n";

constexpr const char* details =
    "\n"
    "Simulates processes that contend for mutexes while everything goes wrong, and checks after\n"
    "every event that no promise of the library is broken. A seed tells the whole story.\n"
    "\n"
    "  --seed N         one run; with --trace its timeline is printed\n"
    "  --hours H        one seed after another until so many hours have been simulated\n"
    "  --hunt SECONDS   one seed after another for so much processor time, or until a rule is\n"
    "                   broken\n"
    "  --first-seed S   where to begin (default 1)\n"
    "  --report FILE    writes the sums as a table of Markdown\n"
    "\n"
    "exit codes: 0 no rule is broken, 1 one is, or the report cannot be written, 2 usage\n";

/// What is wrong with the command line, in one sentence.
struct Misuse {
  std::string why;
};

struct Order {
  std::optional<std::uint64_t> seed{};
  std::optional<double> hours{};
  std::optional<double> hunt{};
  std::optional<std::uint64_t> first_seed{};
  std::optional<std::string> report{};
  bool trace = false;
  bool help = false;
};

std::uint64_t whole(const std::string& option, const std::string& word) {
  const bool digits = word.find_first_not_of("0123456789") == std::string::npos;
  if (word.empty() || word.size() > 18 || !digits) {
    throw Misuse{
        fmt::format("{} takes a whole number of at most 18 digits, not [{}].", option, word)};
  }
  return std::stoull(word);
}

double number(const std::string& option, const std::string& word) {
  const bool digits = word.find_first_not_of("0123456789.") == std::string::npos;
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || word.size() > 12 || !digits || *end != '\0' || value <= 0) {
    throw Misuse{fmt::format("{} takes a number greater than 0, not [{}].", option, word)};
  }
  return value;
}

Order parse(const std::vector<std::string>& words) {
  Order order;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& option = words[i];
    const auto value = [&]() -> const std::string& {
      if (++i == words.size()) throw Misuse{fmt::format("{} needs a value.", option)};
      return words[i];
    };
    if (option == "--help" || option == "-h") {
      order.help = true;
    } else if (option == "--trace") {
      order.trace = true;
    } else if (option == "--seed") {
      order.seed = whole(option, value());
    } else if (option == "--first-seed") {
      order.first_seed = whole(option, value());
    } else if (option == "--hours") {
      order.hours = number(option, value());
    } else if (option == "--hunt") {
      order.hunt = number(option, value());
    } else if (option == "--report") {
      order.report = value();
    } else {
      throw Misuse{fmt::format("There is no option [{}].", option)};
    }
  }
  return order;
}

void check(const Order& order) {
  const int kinds = (order.seed ? 1 : 0) + (order.hours ? 1 : 0) + (order.hunt ? 1 : 0);
  if (kinds != 1) throw Misuse{"Give one of --seed, --hours and --hunt."};
  if (order.trace && !order.seed) throw Misuse{"--trace goes with --seed only."};
  if (order.first_seed && order.seed) throw Misuse{"--first-seed does not go with --seed."};
  if (order.report && !order.hours) throw Misuse{"--report goes with --hours only."};
  if (order.report && order.report->empty()) throw Misuse{"--report needs the name of a file."};
}

/// Exactly one thread runs at any time; on one processor the next one need not be woken on another,
/// which takes longer than what it does.
void stay_on_one_processor() {
  const int here = ::sched_getcpu();
  if (here < 0) return;
  ::cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(here), &only);
  ::sched_setaffinity(0, sizeof only, &only);  // it is only slower without
}

using Stopwatch = std::chrono::steady_clock;

double seconds_since(Stopwatch::time_point began) {
  return std::chrono::duration<double>(Stopwatch::now() - began).count();
}

/// What this process has computed so far: unlike time, it does not pass while others compute.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double in_seconds(nanoseconds span) { return std::chrono::duration<double>(span).count(); }

/// The sum over many seeds.
struct Total {
  std::uint64_t seeds = 0;
  std::uint64_t ownerships = 0;
  std::uint64_t events = 0;
  std::uint64_t switches = 0;
  std::uint64_t excused = 0;
  std::uint64_t overtaken = 0;
  std::uint64_t kept_out = 0;
  SlotCounts slots{};
  FaultCounts faults{};
  double hours = 0;
  Outcome worst{};  // with the longest time without an owner as a part of its bound

  void add(const Outcome& outcome) {
    ++seeds;
    ownerships += outcome.ownerships;
    events += outcome.events;
    switches += outcome.switches;
    excused += outcome.excused;
    overtaken += outcome.overtaken;
    kept_out += outcome.kept_out;
    slots += outcome.slots;
    for (std::size_t i = 0; i < fault_kinds; ++i) faults.at(i) += outcome.faults.at(i);
    hours += in_seconds(outcome.simulated) / 3'600;
    const auto part = [](const Outcome& o) {
      return o.owner_bound.count() == 0 ? 0.0 : in_seconds(o.worst_gap) / in_seconds(o.owner_bound);
    };
    if (part(outcome) >= part(worst)) {
      worst.worst_gap = outcome.worst_gap;
      worst.owner_bound = outcome.owner_bound;
    }
  }

  std::vector<std::pair<std::string, std::string>> lines(double seconds, double busy) const {
    std::vector<std::pair<std::string, std::string>> all{
        {"seeds", std::to_string(seeds)},
        {"ownerships", std::to_string(ownerships)},
        {"events", std::to_string(events)},
        {"switches of threads", std::to_string(switches)},
        {"simulated hours", fmt::format("{:.1f}", hours)},
        {"real seconds", fmt::format("{:.1f}", seconds)},
        {"hours per second", fmt::format("{:.1f}", hours / seconds)},
        {"hours per second of one processor", fmt::format("{:.1f}", hours / busy)},
        {"longest time without an owner, once faults had ended",
         fmt::format("{:.2f} s (bound {:.2f} s)", in_seconds(worst.worst_gap),
                     in_seconds(worst.owner_bound))},
        {"releases beyond the drain limit or the lease", std::to_string(excused)},
        {"owners that another of the same id has taken over", std::to_string(overtaken)},
        {"requests refused since another of the same id is alive", std::to_string(kept_out)},
        {"slots: attempts begun", std::to_string(slots.begun)},
        {"slots: of them repetitions", std::to_string(slots.repeated)},
        {"slots: reported as missed or skipped", std::to_string(slots.passed_over)},
        {"slots: runs reported as lost", std::to_string(slots.lost)},
        {"slots: came in peace, and were begun or reported", std::to_string(slots.judged)},
    };
    for (std::size_t i = 0; i < fault_kinds; ++i) {
      all.emplace_back(fmt::format("fault: {}", name_of(static_cast<Fault>(i))),
                       std::to_string(faults.at(i)));
    }
    return all;
  }
};

/// A run that cannot be ended keeps its threads; then nothing is left but to end the process.
int leave(int code, const Outcome& outcome) {
  std::fflush(stdout);
  if (outcome.stuck) std::_Exit(code);
  return code;
}

int run_seed(std::uint64_t seed, bool trace) {
  auto threads = std::make_unique<Threads>();
  const Outcome outcome = play(seed, *threads, trace);
  fmt::print("{}", outcome.trace);
  fmt::print("seed {}: {:.0f} s simulated, {} events, {} ownerships\n", seed,
             in_seconds(outcome.simulated), outcome.events, outcome.ownerships);
  if (trace) fmt::print("digest {:016x}\n", digest(outcome.trace));
  if (outcome.rule == Rule::none) {
    fmt::print("all rules hold; longest time without an owner in peace {:.3f} s, bound {:.3f} s\n",
               in_seconds(outcome.worst_gap), in_seconds(outcome.owner_bound));
    return leave(0, outcome);
  }
  fmt::print("{}BROKEN: {}: {}\n", support::safety_violation, name_of(outcome.rule), outcome.what);
  return leave(1, outcome);
}

int write_report(const std::string& file, const Total& total, double seconds, double busy) {
  std::ofstream out{file};
  out << "| simulation | |\n|---|---|\n";
  for (const auto& [name, value] : total.lines(seconds, busy)) {
    out << "| " << name << " | " << value << " |\n";
  }
  if (out.flush()) return 0;
  fmt::print(stderr, "cannot write {}\n", file);
  return 1;
}

int run_hours(const Order& order) {
  const auto began = Stopwatch::now();
  Threads threads;
  Total total;
  for (std::uint64_t seed = order.first_seed.value_or(1); total.hours < *order.hours; ++seed) {
    const Outcome outcome = play(seed, threads, false);
    total.add(outcome);
    if (outcome.rule == Rule::none) continue;
    fmt::print("{}BROKEN: seed {}: {}: {}\nsee: simba-sim --seed {} --trace\n",
               support::safety_violation, seed, name_of(outcome.rule), outcome.what, seed);
    return leave(1, outcome);
  }
  const double seconds = seconds_since(began);
  const double busy = processor_seconds();
  for (const auto& [name, value] : total.lines(seconds, busy))
    fmt::print("{:<57} {}\n", name, value);
  return order.report ? write_report(*order.report, total, seconds, busy) : 0;
}

int run_hunt(const Order& order) {
  Threads threads;
  const std::uint64_t first = order.first_seed.value_or(1);
  std::uint64_t seed = first;
  for (; processor_seconds() < *order.hunt; ++seed) {
    const Outcome outcome = play(seed, threads, false);
    if (outcome.rule == Rule::none) continue;
    fmt::print("found: {} in seed {} after {} seeds, {:.1f} s\n{}\n", name_of(outcome.rule), seed,
               seed - first + 1, processor_seconds(), outcome.what);
    return leave(1, outcome);
  }
  fmt::print("found nothing in {} seeds, {:.1f} s\n", seed - first, processor_seconds());
  return 0;
}

}  // namespace

int run(const std::vector<std::string>& words) {
  Order order;
  try {
    order = parse(words);
    if (!order.help) check(order);
  } catch (const Misuse& misuse) {
    fmt::print(stderr, "simba-sim: {}\n{}", misuse.why, usage);
    return 2;
  }
  if (order.help) {
    fmt::print("{}{}", usage, details);
    return 0;
  }
  stay_on_one_processor();
  if (order.seed) return run_seed(*order.seed, order.trace);
  return order.hours ? run_hours(order) : run_hunt(order);
}

}  // namespace simba::sim
