// The names of metrics in what we ship are those of metrics that are written.

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "simba/core/metrics.hpp"

namespace simba {
namespace {

std::string shipped(const std::string& path) {
  std::ifstream file{std::string{SIMBA_TEST_SOURCES} + "/" + path};
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::set<std::string> names_in(const std::string& text) {
  const std::regex name{R"(\bsimba_[a-z_]+)"};
  std::set<std::string> names;
  for (std::sregex_iterator found{text.begin(), text.end(), name}, end; found != end; ++found) {
    names.insert(found->str());
  }
  return names;
}

std::vector<Metric> all_metrics() {
  Statistics statistics;
  statistics.mutexes.push_back({.mutex = "a"});
  statistics.requests.silent_for = std::chrono::seconds{1};
  return metrics_of(statistics);
}

TEST(MetricNames, OfAlertsAndDashboardAreWritten) {
  std::set<std::string> written;
  for (const Metric& metric : all_metrics()) {
    const std::string name{metric.name};
    if (metric.type != MetricType::histogram) written.insert(name);
    if (metric.type == MetricType::histogram) {
      written.insert({name + "_bucket", name + "_sum", name + "_count"});
    }
  }
  for (const char* path : {"examples/prometheus/alerts.yml", "examples/prometheus/alerts_test.yml",
                           "examples/prometheus/dashboard.json"}) {
    const auto names = names_in(shipped(path));
    EXPECT_FALSE(names.empty()) << path;
    for (const std::string& name : names)
      EXPECT_TRUE(written.contains(name)) << path << " " << name;
  }
}

TEST(MetricNames, OfTheDocumentAreTheseAndNoOthers) {
  std::set<std::string> written;
  for (const Metric& metric : all_metrics()) written.insert(std::string{metric.name});
  EXPECT_EQ(names_in(shipped("docs/observability.md")), written);
}

}  // namespace
}  // namespace simba
