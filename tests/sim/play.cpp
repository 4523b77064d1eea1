#include "sim/play.hpp"

#include <memory>

#include "sim/director.hpp"

namespace simba::sim {

Outcome play(std::uint64_t seed, Threads& threads, bool trace) {
  auto stage = std::make_unique<Stage>(seed, threads, trace);
  const LocalTime began = stage->world.now();
  const std::size_t switches = threads.switches();
  Director director{*stage};
  director.make_trouble();
  director.make_peace();
  director.be_quiet();
  Outcome outcome;
  outcome.stuck = !director.end();
  const Checker& checker = stage->checker;
  outcome.rule = checker.rule();
  outcome.what = checker.what();
  outcome.trace = stage->trace.text();
  outcome.simulated = stage->world.now() - began;
  outcome.events = director.events();
  outcome.switches = threads.switches() - switches;
  outcome.ownerships = checker.ownerships();
  outcome.excused = checker.excused();
  outcome.overtaken = checker.overtaken();
  outcome.kept_out = checker.kept_out();
  outcome.slots = stage->slots.counts();
  outcome.faults = stage->network.counts;
  if (!stage->namesakes) {  // of those that have noticed each other none may be left to own
    outcome.worst_gap = checker.worst_gap();
    outcome.owner_bound = checker.owner_bound();
  }
  if (outcome.stuck) static_cast<void>(stage.release());  // its threads still use it
  return outcome;
}

}  // namespace simba::sim
