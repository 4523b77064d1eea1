#include "simba/prometheus/prometheus_collectable.hpp"

#include <chrono>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "simba/core/error.hpp"
#include "simba/core/metrics.hpp"

namespace simba {

namespace {

using ::prometheus::ClientMetric;

::prometheus::MetricType type_of(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return ::prometheus::MetricType::Counter;
    case MetricType::gauge:
      return ::prometheus::MetricType::Gauge;
    case MetricType::histogram:
      break;
  }
  return ::prometheus::MetricType::Histogram;
}

/// The library writes the bucket without a bound itself.
ClientMetric::Histogram histogram_of(const Durations& durations) {
  const auto seconds = [](std::chrono::nanoseconds span) {
    return std::chrono::duration<double>(span).count();
  };
  ClientMetric::Histogram histogram;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < Durations::bounds.size(); ++i) {
    count += durations.counts[i];
    histogram.bucket.push_back(
        {.cumulative_count = count, .upper_bound = seconds(Durations::bounds[i])});
  }
  histogram.sample_count = count + durations.counts.back();
  histogram.sample_sum = seconds(durations.total);
  return histogram;
}

ClientMetric client_metric_of(MetricType type, const MetricSample& sample) {
  ClientMetric metric;
  for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
  std::visit(
      [&](const auto& value) {
        if constexpr (std::is_same_v<decltype(value), const Durations&>) {
          metric.histogram = histogram_of(value);
        } else if (type == MetricType::counter) {
          metric.counter.value = static_cast<double>(value);
        } else {
          metric.gauge.value = static_cast<double>(value);
        }
      },
      sample.value);
  return metric;
}

}  // namespace

PrometheusCollectable::PrometheusCollectable(Snapshot snapshot) : snapshot_{std::move(snapshot)} {
  if (!snapshot_) throw InvalidArgumentError{"a PrometheusCollectable needs a function (got none)"};
}

std::vector<::prometheus::MetricFamily> PrometheusCollectable::Collect() const {
  std::vector<::prometheus::MetricFamily> families;
  for (const Metric& metric : metrics_of(snapshot_())) {
    ::prometheus::MetricFamily& family = families.emplace_back();
    family.name = metric.name;
    family.help = metric.help;
    family.type = type_of(metric.type);
    for (const MetricSample& sample : metric.samples) {
      family.metric.push_back(client_metric_of(metric.type, sample));
    }
  }
  return families;
}

}  // namespace simba
