#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "simba/core/statistics.hpp"

namespace simba {

enum class MetricType { counter, gauge, histogram };

/// E.g. "counter".
std::string_view to_string(MetricType type) noexcept;

/// One time series of a metric, as it is now.
struct MetricSample {
  using Label = std::pair<std::string, std::string>;  ///< name and value, the value as it is

  std::vector<Label> labels{};
  std::variant<std::uint64_t, double, Durations> value{};  ///< `Durations`: of a histogram
};

struct Metric {
  std::string_view name;  ///< e.g. "simba_acquisitions_total"; of a counter it ends in "_total"
  MetricType type = MetricType::gauge;
  std::string_view help;
  std::vector<MetricSample> samples{};
};

/// All metrics, in seconds where they are times, for whatever exports them. Samples of all mutexes
/// without an entry of their own have no label `mutex`; docs/observability.md lists the metrics.
[[nodiscard]] std::vector<Metric> metrics_of(const Statistics& statistics);

}  // namespace simba
