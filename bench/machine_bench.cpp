// How long one step of the contention machine takes.
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "engine/contention_machine.hpp"
#include "figure.hpp"

namespace simba::bench {
namespace {

using namespace std::chrono_literals;
using namespace simba::engine;

const std::string me = "0:12345@192.168.1.100";
const std::string other = "7:54321@192.168.1.101";

/// A machine and a store that grants, or is held by another, at once.
class Cycle {
 public:
  explicit Cycle(const std::string& owner) : owner_{owner} {
    Actions actions = machine_.step(Start{}, now_);
    if (!actions.send) actions = tick();
    answer(actions);
  }

  /// Goes on to the next moment at which the machine wants to be called.
  Actions tick() {
    now_ = machine_.wake_at();
    return machine_.step(Tick{}, now_);
  }

  void answer(Actions& actions) {
    if (!actions.send) throw std::logic_error{"nothing was asked"};
    LeaseRecord record{.owner_id = owner_,
                       .lease = {},
                       .ttl_left = 10s,
                       .transition_left = 16s,
                       .fencing_token = 42,
                       .counted_from = {}};
    benchmark::DoNotOptimize(
        machine_.step(Answered{.request = *actions.send, .answer = std::move(record)}, now_));
  }

  ContentionMachine& machine() { return machine_; }
  LocalTime now() const { return now_; }

 private:
  const std::string owner_;
  LocalTime now_{1h};
  ContentionMachine machine_{std::make_shared<const ContentionPlan>(ContentionOptions{}), me,
                             AfterLoss::contend_again, make_seeded_random(1), 0ns};
};

/// An owner renews: the tick that asks and the answer that grants, two steps.
void renewal(benchmark::State& state) {
  Cycle cycle{me};
  while (state.KeepRunning()) {
    Actions actions = cycle.tick();
    cycle.answer(actions);
  }
  state.SetItemsProcessed(2 * state.iterations());
}

/// Another owns it: the tick that asks and the answer that names the owner, two steps.
void contention(benchmark::State& state) {
  Cycle cycle{other};
  while (state.KeepRunning()) {
    Actions actions = cycle.tick();
    cycle.answer(actions);
  }
  state.SetItemsProcessed(2 * state.iterations());
}

/// A timer that came too early.
void idle_tick(benchmark::State& state) {
  Cycle cycle{me};
  while (state.KeepRunning()) benchmark::DoNotOptimize(cycle.machine().step(Tick{}, cycle.now()));
  state.SetItemsProcessed(state.iterations());
}

/// An answer to a request of an earlier life.
void late_answer(benchmark::State& state) {
  Cycle cycle{me};
  const Answered late{
      .request = {.kind = Request::Kind::guard, .id = 1, .epoch = 0, .sent_at = {}, .token = 1},
      .answer = Error{ErrorKind::timeout, "late"}};
  while (state.KeepRunning()) benchmark::DoNotOptimize(cycle.machine().step(late, cycle.now()));
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(renewal);
BENCHMARK(contention);
BENCHMARK(idle_tick);
BENCHMARK(late_answer);

/// Prints as usual and keeps the nanoseconds per step.
class Keeper final : public benchmark::ConsoleReporter {
 public:
  Keeper() : ConsoleReporter{OO_Tabular} {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      const auto steps_per_second = run.counters.find("items_per_second");
      if (steps_per_second == run.counters.end()) continue;
      steps[run.run_name.function_name].push_back(1e9 / steps_per_second->second.value);
    }
  }

  std::map<std::string, std::vector<double>> steps;
};

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Keeper keeper;
  benchmark::RunSpecifiedBenchmarks(&keeper);
  Figures figures;
  for (const auto& [name, times] : keeper.steps) {
    figures.at_most("machine step, " + name, median(times), 1000, "ns");
  }
  return figures.exit_code();
}

}  // namespace
}  // namespace simba::bench

int main(int argc, char** argv) { return simba::bench::run(argc, argv); }
