// What a program that serves its metrics with prometheus-cpp shows of Simba.

#include "simba/prometheus/prometheus_collectable.hpp"

#include <chrono>
#include <memory>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/client/client.hpp"
#include "simba/core/error.hpp"
#include "simba/core/metrics_text.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

Statistics statistics_of_two_mutexes() {
  Statistics statistics;
  MutexStatistics named{.mutex = "order \"7\"\n\\", .owners = 1, .fencing_token = 42};
  named.lease_left = 2500ms;
  named.acquisitions = 3;
  named.waits.counts = {2, 0, 1};
  named.waits.counts.back() = 4;
  named.waits.total = 1500ms;
  statistics.mutexes = {named, MutexStatistics{.acquisitions = 9}};
  statistics.requests.errors = {{ErrorKind::in_doubt, 5}};
  statistics.requests.silent_for = 250ms;
  statistics.delayed_callbacks = 6;
  return statistics;
}

/// What a scrape is answered with.
std::string text_of(const PrometheusCollectable& collectable) {
  return ::prometheus::TextSerializer{}.Serialize(collectable.Collect());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream{text};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(PrometheusCollectableText, HasTheSameLinesAsThatOfMetricsText) {
  const Statistics statistics = statistics_of_two_mutexes();
  EXPECT_THAT(lines_of(text_of(PrometheusCollectable{[&] { return statistics; }})),
              UnorderedElementsAreArray(lines_of(metrics_text(statistics))));
}

TEST(PrometheusCollectableText, EachScrapeShowsTheStatisticsOfThatMoment) {
  const testkit::ManualRuntime world;
  const Client client{std::make_shared<engine::LeaseServiceFactory>(
      std::make_shared<memory::MemoryStore>(world.runtime()->clock), world.runtime())};
  const PrometheusCollectable collectable{[&] { return client.statistics(); }};
  {
    const Lock lock = client.lock("order");
    EXPECT_THAT(text_of(collectable), HasSubstr("\nsimba_owner{mutex=\"order\"} 1\n"));
  }
  EXPECT_THAT(text_of(collectable), HasSubstr("\nsimba_owner{mutex=\"order\"} 0\n"));
}

TEST(PrometheusCollectableText, NeedsAFunction) {
  EXPECT_THROW(PrometheusCollectable{nullptr}, InvalidArgumentError);
}

}  // namespace
}  // namespace simba
