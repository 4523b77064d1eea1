#pragma once

#include <chrono>

#include <gtest/gtest.h>

#include "unit/rules/process.hpp"
#include "unit/rules/world.hpp"

namespace simba::rules {

using namespace std::chrono_literals;

/// A world in which nothing goes wrong but what a test does, with processes of one contender each.
class CalmWorld : public testing::Test {
 protected:
  void go_on(std::chrono::nanoseconds span) { world.run_until(world.now() + span); }

  static MutexContendService& service_of(Process& process) {
    return *process.members().front().service;
  }
  static void start(Process& process) { process.start(process.members().front()); }
  static void stop(Process& process) { process.stop(process.members().front()); }

  /// A waiter has decided to ask once more when the owner releases. The waiter is told that it owns
  /// the mutex before that request reaches the store.
  void expect_grant_outlasts_crossing_request(Process& owner, Process& waiter) {
    const Process::Member& member = waiter.members().front();
    waiter.hold_requests(member);
    for (int i = 0; i < 1'000 && waiter.held_requests(member) == 0; ++i) go_on(5ms);
    ASSERT_GT(waiter.held_requests(member), 0U) << "it never asks again";
    stop(owner);
    go_on(30ms);
    ASSERT_TRUE(service_of(waiter).is_owner()) << world.story();
    const FencingToken token = service_of(waiter).fencing_token();
    waiter.send_held_requests(member);
    for (int i = 0; i < 500; ++i) {
      go_on(10ms);
      ASSERT_TRUE(service_of(waiter).is_owner()) << world.story();
      ASSERT_EQ(service_of(waiter).fencing_token(), token) << world.story();
    }
  }

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
