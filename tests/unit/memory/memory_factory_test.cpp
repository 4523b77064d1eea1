#include "simba/memory/memory_factory.hpp"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/testkit/manual_runtime.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "support/ownership/grows.hpp"

namespace simba::memory {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testkit::ManualRuntime;
using testkit::RecordingContender;
using testkit::RecordingRetriever;

TEST(MemoryFactory, FactoriesThatShareAStoreContendWithEachOther) {
  ManualRuntime manual;
  const auto store = std::make_shared<MemoryStore>(manual.runtime()->clock);
  const auto first =
      make_memory_factory({.contention = {}, .store = store, .runtime = manual.runtime()});
  const auto second =
      make_memory_factory({.contention = {}, .store = store, .runtime = manual.runtime()});
  RecordingContender a{"m", "a"};
  RecordingContender b{"m", "b"};
  const auto service_a = first->create_mutex_contend_service(a);
  const auto service_b = second->create_mutex_contend_service(b);
  service_a->start();
  service_b->start();
  manual.run_ready();
  EXPECT_TRUE(service_a->is_owner());
  EXPECT_FALSE(service_b->is_owner());
  EXPECT_THAT(b.owners(), ElementsAre("a"));

  const LocalTime before = manual.now();
  service_a->stop();
  manual.run_ready();
  EXPECT_TRUE(service_b->is_owner()) << "handed over by notice";
  EXPECT_EQ(manual.now(), before) << "without any waiting";
  EXPECT_TRUE(support::grows(a.tokens().at(0), b.tokens().at(0)));
}

TEST(MemoryFactory, FactoriesWithStoresOfTheirOwnDoNotContend) {
  ManualRuntime manual;
  const auto first =
      make_memory_factory({.contention = {}, .store = {}, .runtime = manual.runtime()});
  const auto second =
      make_memory_factory({.contention = {}, .store = {}, .runtime = manual.runtime()});
  EXPECT_EQ(first->runtime(), manual.runtime());
  RecordingContender a{"m", "a"};
  RecordingContender b{"m", "b"};
  const auto service_a = first->create_mutex_contend_service(a);
  const auto service_b = second->create_mutex_contend_service(b);
  service_a->start();
  service_b->start();
  manual.run_ready();
  EXPECT_TRUE(service_a->is_owner() && service_b->is_owner());
}

TEST(MemoryFactory, AnOwnerThatKeepsRenewingHoldsTheMutexPastItsLease) {
  ManualRuntime manual;
  const auto factory =
      make_memory_factory({.contention = {}, .store = {}, .runtime = manual.runtime()});
  RecordingContender a{"m", "a"};
  RecordingContender b{"m", "b"};
  RecordingRetriever observer{"m"};
  const auto watching = factory->create_mutex_retrieval_service(observer);
  const auto service_a = factory->create_mutex_contend_service(a);
  const auto service_b = factory->create_mutex_contend_service(b);
  watching->start();
  service_a->start();
  manual.run_ready();
  service_b->start();
  manual.advance(10min);
  EXPECT_TRUE(service_a->is_owner());
  EXPECT_EQ(a.acquisitions(), 1U);
  EXPECT_EQ(b.acquisitions(), 0U);
  EXPECT_EQ(observer.owner(), "a");
}

TEST(MemoryFactory, RefusesOptionsThatContradictEachOther) {
  ContentionOptions options;
  options.ttl = 0ms;
  EXPECT_THROW(make_memory_factory(options), InvalidArgumentError);
}

TEST(MemoryFactory, MakesItsOwnRuntimeAndStoreByDefault) {
  const auto factory = make_memory_factory();
  ASSERT_NE(factory->runtime(), nullptr);
  RecordingContender a{"m", "a"};
  const auto service = factory->create_mutex_contend_service(a);
  service->start();
  EXPECT_TRUE(a.wait_for_acquisitions(1, 10s));
  service->stop();
  EXPECT_EQ(a.releases(), 1U);
}

}  // namespace
}  // namespace simba::memory
