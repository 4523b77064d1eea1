#pragma once

#include <string>
#include <string_view>

#include "simba/core/statistics.hpp"

namespace simba {

enum class MetricsFormat {
  prometheus,   ///< the text format of Prometheus, version 0.0.4
  openmetrics,  ///< OpenMetrics 1.0
};

/// What a server answers a scrape with. Counters of mutexes without an entry of their own have no
/// label `mutex`; docs/observability.md lists all metrics.
[[nodiscard]] std::string metrics_text(const Statistics& statistics,
                                       MetricsFormat format = MetricsFormat::prometheus);

/// The value of the header `Content-Type`.
[[nodiscard]] std::string_view content_type(MetricsFormat format) noexcept;

/// The format that the value of a header `Accept` prefers; `prometheus` if it names neither.
[[nodiscard]] MetricsFormat accepted_format(std::string_view accept) noexcept;

}  // namespace simba
