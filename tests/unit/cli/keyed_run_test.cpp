#include "cli/keyed_run.hpp"

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;
using testkit::Fault;

TEST(CliKeyedRun, WaitsOnAfterALookThatTheStoreDoesNotAnswer) {
  for (const Fault& fault : {Fault::fail(), Fault::swallow()}) {
    testkit::ManualRuntime world;
    const auto store = std::make_shared<testkit::FaultStore>(
        std::make_shared<memory::MemoryStore>(world.runtime()->clock));
    engine::LeaseServiceFactory factory{store, world.runtime()};
    const ScheduleRecords records{factory.records(), world.runtime(), 1s};
    Output output{Output::Form::text};
    KeyedRun run{"m", {.key = "a", .exits_if_running = true}, records, records, output};
    store->next(testkit::Operation::read_record, fault, 100);
    EXPECT_FALSE(run.runs_elsewhere("other"));
    store->mend();
    world.advance(1min);
  }
}

}  // namespace
}  // namespace simba::cli
