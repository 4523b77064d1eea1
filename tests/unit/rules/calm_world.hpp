#pragma once

#include <chrono>

#include <gtest/gtest.h>

#include "unit/rules/process.hpp"
#include "unit/rules/world.hpp"

namespace simba::rules {

/// A world in which nothing goes wrong but what a test does, with processes of one contender each.
class CalmWorld : public testing::Test {
 protected:
  void go_on(std::chrono::nanoseconds span) { world.run_until(world.now() + span); }

  static MutexContendService& service_of(Process& process) {
    return *process.members().front().service;
  }
  static void start(Process& process) { process.start(process.members().front()); }
  static void stop(Process& process) { process.stop(process.members().front()); }

  /// They stop and go. To be called while there are servers.
  template <typename... ProcessPtr>
  void end(ProcessPtr&... processes) {
    const auto stop_running = [](Process& process) {
      if (service_of(process).running()) stop(process);
    };
    (stop_running(*processes), ...);
    go_on(std::chrono::seconds{5});
    (processes.reset(), ...);
    world.clear();
  }

  World world{1};
};

}  // namespace simba::rules
