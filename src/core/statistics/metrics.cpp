#include "simba/core/metrics.hpp"

#include <algorithm>
#include <array>

#include "simba/version.hpp"

namespace simba {

namespace {

using Labels = std::vector<MetricSample::Label>;

constexpr std::array loss_reasons{"expired", "taken_over", "revoked", "duplicate_id"};

double in_seconds(std::chrono::nanoseconds span) {
  return std::chrono::duration<double>(span).count();
}

class Metrics {
 public:
  /// What follows belongs to this metric.
  void metric(std::string_view name, MetricType type, std::string_view help) {
    all_.push_back({.name = name, .type = type, .help = help});
  }

  template <typename Value>
  void sample(const Labels& labels, const Value& value) {
    all_.back().samples.push_back({.labels = labels, .value = value});
  }

  std::vector<Metric> take() { return std::move(all_); }

 private:
  std::vector<Metric> all_;
};

/// `labels` and one more.
Labels with(Labels labels, std::string name, std::string value) {
  labels.emplace_back(std::move(name), std::move(value));
  return labels;
}

void append_mutexes(Metrics& metrics, const std::vector<MutexStatistics>& mutexes) {
  const auto each = [&](const auto& append) {
    for (const MutexStatistics& mutex : mutexes) {
      append(mutex, mutex.mutex.empty() ? Labels{} : Labels{{"mutex", mutex.mutex}});
    }
  };
  const auto each_named = [&](const auto& append) {
    each([&](const MutexStatistics& mutex, const Labels& labels) {
      if (!labels.empty()) append(mutex, labels);
    });
  };
  metrics.metric("simba_owner", MetricType::gauge, "Whether this process owns the mutex.");
  each([&](const auto& mutex, const auto& labels) { metrics.sample(labels, mutex.owners); });
  metrics.metric("simba_waiting", MetricType::gauge,
                 "Contenders of this process that wait for the mutex.");
  each([&](const auto& mutex, const auto& labels) { metrics.sample(labels, mutex.waiting); });
  metrics.metric("simba_waiting_seconds", MetricType::gauge,
                 "For how long at least one of them has waited.");
  each([&](const auto& mutex, const auto& labels) {
    metrics.sample(labels, in_seconds(mutex.waiting_for));
  });
  metrics.metric("simba_fencing_token", MetricType::gauge,
                 "The fencing token of the ownership; 0 if this process does not own the mutex.");
  each_named(
      [&](const auto& mutex, const auto& labels) { metrics.sample(labels, mutex.fencing_token); });
  metrics.metric("simba_lease_left_seconds", MetricType::gauge,
                 "How long this process owns the mutex even if it never renews again.");
  each_named([&](const auto& mutex, const auto& labels) {
    metrics.sample(labels, in_seconds(mutex.lease_left));
  });
  metrics.metric("simba_acquisitions_total", MetricType::counter,
                 "How often this process got the mutex.");
  each([&](const auto& mutex, const auto& labels) { metrics.sample(labels, mutex.acquisitions); });
  metrics.metric("simba_losses_total", MetricType::counter,
                 "How often it lost the mutex without giving it up.");
  each([&](const auto& mutex, const auto& labels) {
    for (std::size_t i = 0; i < loss_reasons.size(); ++i) {
      metrics.sample(with(labels, "reason", loss_reasons[i]), mutex.losses[i]);
    }
  });
  metrics.metric("simba_renewals_total", MetricType::counter, "Renewals of its leases.");
  each([&](const auto& mutex, const auto& labels) {
    metrics.sample(with(labels, "result", "confirmed"), mutex.renewals);
    metrics.sample(with(labels, "result", "failed"), mutex.failed_renewals);
  });
  metrics.metric("simba_wait_seconds", MetricType::histogram, "From beginning to wait to owning.");
  each([&](const auto& mutex, const auto& labels) { metrics.sample(labels, mutex.waits); });
  metrics.metric("simba_hold_seconds", MetricType::histogram,
                 "From owning to giving up, or losing, the mutex.");
  each([&](const auto& mutex, const auto& labels) { metrics.sample(labels, mutex.holds); });
  metrics.metric("simba_hand_over_seconds", MetricType::histogram,
                 "From hearing that another has given the mutex up to owning.");
  each([&](const auto& mutex, const auto& labels) { metrics.sample(labels, mutex.hand_overs); });
  metrics.metric("simba_take_over_seconds", MetricType::histogram,
                 "From the end of the lease of another, which it had not given up, to owning.");
  each([&](const auto& mutex, const auto& labels) { metrics.sample(labels, mutex.take_overs); });
}

void append_requests(Metrics& metrics, const RequestStatistics& requests) {
  metrics.metric("simba_request_seconds", MetricType::histogram,
                 "How long the store took to answer. An answer of a waiter may be that it waits.");
  for (std::size_t i = 0; i < requests.answered.size(); ++i) {
    metrics.sample({{"kind", std::string{to_string(static_cast<RequestKind>(i))}}},
                   requests.answered[i]);
  }
  metrics.metric("simba_request_errors_total", MetricType::counter,
                 "Requests without a definite answer.");
  for (int i = 0; i <= static_cast<int>(ErrorKind::internal); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    const auto found = requests.errors.find(kind);
    std::string name{to_string(kind)};
    std::replace(name.begin(), name.end(), ' ', '_');
    metrics.sample({{"kind", std::move(name)}},
                   found == requests.errors.end() ? std::uint64_t{0} : found->second);
  }
  if (!requests.silent_for) return;
  metrics.metric("simba_store_silent_seconds", MetricType::gauge, "Since the store last answered.");
  metrics.sample({}, in_seconds(*requests.silent_for));
}

void append_connections(Metrics& metrics, const ConnectionStatistics& connections) {
  metrics.metric("simba_connections", MetricType::gauge, "Open connections to stores.");
  metrics.sample({}, connections.open);
  metrics.metric("simba_connections_opened_total", MetricType::counter,
                 "Connections to stores that were opened.");
  metrics.sample({}, connections.opened);
  metrics.metric("simba_connections_failed_total", MetricType::counter,
                 "Attempts to connect to a store that failed.");
  metrics.sample({}, connections.failed);
}

void append_callbacks(Metrics& metrics, const CallbackStatistics& callbacks) {
  metrics.metric("simba_callbacks_running", MetricType::gauge,
                 "Callbacks, loss signals and work that run now.");
  metrics.sample({}, callbacks.running);
  metrics.metric("simba_callbacks_waiting", MetricType::gauge,
                 "Services and schedules with callbacks or work that have not started.");
  metrics.sample({}, callbacks.waiting);
  metrics.metric("simba_callbacks_waiting_seconds", MetricType::gauge,
                 "For how long the first of them has waited.");
  metrics.sample({}, in_seconds(callbacks.waiting_for));
  metrics.metric("simba_callback_seconds", MetricType::histogram,
                 "How long callbacks, loss signals and work have run.");
  metrics.sample({}, callbacks.durations);
}

}  // namespace

std::string_view to_string(MetricType type) noexcept {
  switch (type) {
    case MetricType::counter:
      return "counter";
    case MetricType::gauge:
      return "gauge";
    case MetricType::histogram:
      return "histogram";
  }
  return "unknown";
}

std::vector<Metric> metrics_of(const Statistics& statistics) {
  Metrics metrics;
  metrics.metric("simba_build_info", MetricType::gauge, "The version of Simba.");
  metrics.sample({{"version", std::string{version}}}, std::uint64_t{1});
  append_mutexes(metrics, statistics.mutexes);
  append_requests(metrics, statistics.requests);
  append_connections(metrics, statistics.connections);
  append_callbacks(metrics, statistics.callbacks);
  metrics.metric(
      "simba_delayed_callbacks_total", MetricType::counter,
      "Callbacks, work and loss signals that waited for a thread for a second or longer.");
  metrics.sample({}, statistics.delayed_callbacks);
  metrics.metric("simba_dropped_log_lines_total", MetricType::counter,
                 "Log lines dropped since the log is slow.");
  metrics.sample({}, statistics.dropped_log_lines);
  return metrics.take();
}

}  // namespace simba
