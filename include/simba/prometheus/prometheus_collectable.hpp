#pragma once

#include <functional>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <vector>

#include "simba/core/statistics.hpp"

namespace simba {

/// Shows the metrics of simba/core/metrics.hpp to prometheus-cpp, for programs that serve their
/// own with it:
///
/// ```cpp
/// const auto simba = std::make_shared<simba::PrometheusCollectable>(
///     [client] { return client.statistics(); });
/// exposer.RegisterCollectable(simba);  // which keeps a weak reference
/// ```
///
/// In the target simba::prometheus, which exists where prometheus-cpp does.
/// Threads: `Collect` may be called from any thread at the same time, if `snapshot` may.
/// Errors: what `snapshot` throws.
class PrometheusCollectable final : public ::prometheus::Collectable {
 public:
  using Snapshot = std::function<Statistics()>;

  /// `snapshot` is called at each scrape, e.g. for `Client::statistics` or `statistics_of`. Throws
  /// InvalidArgumentError if it is empty.
  explicit PrometheusCollectable(Snapshot snapshot);

  std::vector<::prometheus::MetricFamily> Collect() const override;

 private:
  const Snapshot snapshot_;
};

}  // namespace simba
