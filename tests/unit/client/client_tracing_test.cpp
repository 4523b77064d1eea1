// What a tracer hears of the locks and elections of a client.

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/client/client.hpp"
#include "simba/core/tracer.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Writes down what it is told.
class WritingTracer final : public Tracer {
 public:
  std::unique_ptr<Trace> trace(const std::string& mutex, const std::string& contender_id) override {
    started.push_back(mutex + " " + contender_id);
    started_in = std::this_thread::get_id();
    if (throws) throw std::runtime_error{"no tracing today"};
    return wants ? std::make_unique<WritingTrace>(*this) : nullptr;
  }

  std::vector<std::string> told() { return std::exchange(lines, {}); }

  bool wants = true;
  bool throws = false;
  bool stages_throw = false;
  std::vector<std::string> started;
  std::thread::id started_in;
  std::vector<std::string> lines;
  std::vector<TraceEvent> events;

 private:
  class WritingTrace final : public Trace {
   public:
    explicit WritingTrace(WritingTracer& tracer) : tracer_{tracer} {}
    void begins(const TraceEvent& event) override {
      write(fmt::format("begins {}", to_string(event.stage)), event);
    }
    void ends(const TraceEvent& event) override {
      write(fmt::format("ends {} {}{}", to_string(event.stage), to_string(event.result),
                        event.loss ? fmt::format(" {}", to_string(*event.loss)) : ""),
            event);
    }

   private:
    void write(const std::string& line, const TraceEvent& event) {
      tracer_.lines.push_back(line);
      tracer_.events.push_back(event);
      if (tracer_.stages_throw) throw std::runtime_error{"no tracing today"};
    }
    WritingTracer& tracer_;
  };
};

class ClientTracing : public ::testing::Test {
 protected:
  ClientTracing() {
    auto runtime = std::make_shared<Runtime>(*world_.runtime());
    runtime->tracer = tracer_;
    client_.emplace(std::make_shared<engine::LeaseServiceFactory>(store_, runtime));
  }
  // What is still to be given back is, or its lease ends: until then it keeps itself alive.
  ~ClientTracing() override {
    store_->mend();
    world_.advance(2min);
  }

  std::vector<std::string> told() {
    world_.run_ready();
    return tracer_->told();
  }

  testkit::ManualRuntime world_;
  const std::shared_ptr<WritingTracer> tracer_ = std::make_shared<WritingTracer>();
  const std::shared_ptr<testkit::FaultStore> store_ = std::make_shared<testkit::FaultStore>(
      std::make_shared<memory::MemoryStore>(world_.runtime()->clock));
  std::optional<Client> client_;
};

TEST_F(ClientTracing, ALockIsToldFromTheWaitForItToItsRelease) {
  Lock lock = client_->lock("order", {.id = ContenderId{"me"}});
  EXPECT_THAT(tracer_->started, ElementsAre("order me"));
  EXPECT_EQ(tracer_->started_in, std::this_thread::get_id()) << "of the caller";
  EXPECT_THAT(told(), ElementsAre("begins acquire", "ends acquire done", "begins hold"));
  EXPECT_EQ(tracer_->events.back().fencing_token, lock.fencing_token());
  world_.advance(2s);
  lock.unlock();
  EXPECT_THAT(told(), ElementsAre("ends hold done", "begins release", "ends release done"));
}

TEST_F(ClientTracing, AStageHasTheTimesOfTheWallClock) {
  Lock lock = client_->lock("order");
  static_cast<void>(told());
  const auto begun = tracer_->events.back().at;
  world_.advance(2s);
  lock.unlock();
  static_cast<void>(told());
  EXPECT_EQ(tracer_->events.at(3).stage, TraceStage::hold);
  EXPECT_EQ(tracer_->events.at(3).at - begun, world_.clock().wall_now() - begun);
}

TEST_F(ClientTracing, AWaitThatEndsWithoutTheLockWasGivenUp) {
  const Lock lock = client_->lock("order");
  static_cast<void>(told());
  EXPECT_FALSE(client_->try_lock("order", {.wait = 3s}));
  EXPECT_THAT(told(), ElementsAre("begins acquire", "ends acquire given up"));
}

TEST_F(ClientTracing, ALossIsToldWithItsReasonAndIsNoRelease) {
  const Lock lock = client_->lock("order");
  static_cast<void>(told());
  store_->cut();
  world_.advance(1min);
  EXPECT_THAT(told(), ElementsAre("ends hold lost expired"));
}

TEST_F(ClientTracing, ALeaderThatHasLostBeginsToAcquireAgain) {
  const Election election = client_->elect("leader", {});
  ASSERT_TRUE(world_.run_until([&] { return election.is_leader(); }, 1min));
  static_cast<void>(told());
  store_->cut();
  ASSERT_TRUE(world_.run_until([&] { return !election.is_leader(); }, 1min));
  store_->mend();
  ASSERT_TRUE(world_.run_until([&] { return election.is_leader(); }, 1min));
  EXPECT_THAT(told(), ElementsAre("ends hold lost expired", "begins acquire", "ends acquire done",
                                  "begins hold"));
}

TEST_F(ClientTracing, AReleaseThatTheStoreNeverConfirmsIsGivenUp) {
  Lock lock = client_->lock("order");
  static_cast<void>(told());
  store_->cut();
  lock.unlock();
  world_.advance(2min);
  EXPECT_THAT(told(), ElementsAre("ends hold done", "begins release", "ends release given up"));
}

TEST_F(ClientTracing, AnExceptionIsLoggedAndChangesNothing) {
  tracer_->stages_throw = true;
  { const Lock lock = client_->lock("order"); }
  EXPECT_THAT(told(), ElementsAre("begins acquire", "ends acquire done", "begins hold",
                                  "ends hold done", "begins release", "ends release done"));
  EXPECT_THAT(world_.log().text(), HasSubstr("tracer, mutex [order]: threw: no tracing today"));
  tracer_->throws = true;
  const Lock lock = client_->lock("other");
  EXPECT_TRUE(lock.held());
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(ClientTracing, WhatTheTracerDoesNotWantIsNotTold) {
  tracer_->wants = false;
  { const Lock lock = client_->lock("order"); }
  EXPECT_THAT(told(), IsEmpty());
}

}  // namespace
}  // namespace simba
