#include "simba/core/metrics_text.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "simba/version.hpp"

namespace simba {

namespace {

constexpr std::array loss_reasons{"expired", "taken_over", "revoked", "duplicate_id"};

double in_seconds(std::chrono::nanoseconds span) {
  return std::chrono::duration<double>(span).count();
}

/// The value of a label, escaped as both formats want it.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\n') {
      safe += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, escaped(value));
}

/// Those of a mutex: none if it has no name.
std::string labels_of(const MutexStatistics& mutex) {
  return mutex.mutex.empty() ? std::string{} : label("mutex", mutex.mutex);
}

std::string joined(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + "," + other;
}

class Text {
 public:
  explicit Text(MetricsFormat format) : format_{format} {}

  /// What follows belongs to this metric.
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    const bool is_counter = type == "counter";
    suffix_ = is_counter ? "_total" : "";
    // In the older format the suffix is a part of a counter's name.
    const std::string_view shown =
        is_counter && format_ == MetricsFormat::prometheus ? "_total" : "";
    append("# HELP {}{} {}\n# TYPE {}{} {}\n", name_, shown, help, name_, shown, type);
  }

  template <typename Number>
  void sample(const std::string& labels, Number value) {
    line(suffix_, labels, value);
  }

  void histogram(const std::string& labels, const Durations& durations) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < Durations::bounds.size(); ++i) {
      count += durations.counts[i];
      const double bound = in_seconds(Durations::bounds[i]);
      line("_bucket", joined(labels, fmt::format("le=\"{}\"", bound)), count);
    }
    count += durations.counts.back();
    line("_bucket", joined(labels, "le=\"+Inf\""), count);
    line("_sum", labels, in_seconds(durations.total));
    line("_count", labels, count);
  }

  std::string take() {
    if (format_ == MetricsFormat::openmetrics) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  template <typename... Values>
  void append(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  template <typename Number>
  void line(std::string_view suffix, const std::string& labels, Number value) {
    if (labels.empty()) return append("{}{} {}\n", name_, suffix, value);
    append("{}{}{{{}}} {}\n", name_, suffix, labels, value);
  }

  const MetricsFormat format_;
  std::string text_;
  std::string_view name_;
  std::string_view suffix_;
};

void append_mutexes(Text& text, const std::vector<MutexStatistics>& mutexes) {
  const auto each = [&](const auto& append) {
    for (const MutexStatistics& mutex : mutexes) append(mutex, labels_of(mutex));
  };
  const auto each_named = [&](const auto& append) {
    each([&](const MutexStatistics& mutex, const std::string& labels) {
      if (!labels.empty()) append(mutex, labels);
    });
  };
  text.metric("simba_owner", "gauge", "Whether this process owns the mutex.");
  each([&](const auto& mutex, const auto& labels) { text.sample(labels, mutex.owners); });
  text.metric("simba_waiting", "gauge", "Contenders of this process that wait for the mutex.");
  each([&](const auto& mutex, const auto& labels) { text.sample(labels, mutex.waiting); });
  text.metric("simba_waiting_seconds", "gauge", "For how long at least one of them has waited.");
  each([&](const auto& mutex, const auto& labels) {
    text.sample(labels, in_seconds(mutex.waiting_for));
  });
  text.metric("simba_fencing_token", "gauge",
              "The fencing token of the ownership; 0 if this process does not own the mutex.");
  each_named(
      [&](const auto& mutex, const auto& labels) { text.sample(labels, mutex.fencing_token); });
  text.metric("simba_lease_left_seconds", "gauge",
              "How long this process owns the mutex even if it never renews again.");
  each_named([&](const auto& mutex, const auto& labels) {
    text.sample(labels, in_seconds(mutex.lease_left));
  });
  text.metric("simba_acquisitions", "counter", "How often this process got the mutex.");
  each([&](const auto& mutex, const auto& labels) { text.sample(labels, mutex.acquisitions); });
  text.metric("simba_losses", "counter", "How often it lost the mutex without giving it up.");
  each([&](const auto& mutex, const auto& labels) {
    for (std::size_t i = 0; i < loss_reasons.size(); ++i) {
      text.sample(joined(labels, label("reason", loss_reasons[i])), mutex.losses[i]);
    }
  });
  text.metric("simba_renewals", "counter", "Renewals of its leases.");
  each([&](const auto& mutex, const auto& labels) {
    text.sample(joined(labels, label("result", "confirmed")), mutex.renewals);
    text.sample(joined(labels, label("result", "failed")), mutex.failed_renewals);
  });
  text.metric("simba_wait_seconds", "histogram", "From beginning to wait to owning.");
  each([&](const auto& mutex, const auto& labels) { text.histogram(labels, mutex.waits); });
  text.metric("simba_hold_seconds", "histogram", "From owning to giving up, or losing, the mutex.");
  each([&](const auto& mutex, const auto& labels) { text.histogram(labels, mutex.holds); });
}

void append_requests(Text& text, const RequestStatistics& requests) {
  text.metric("simba_request_seconds", "histogram",
              "How long the store took to answer. An answer of a waiter may be that it waits.");
  for (std::size_t i = 0; i < requests.answered.size(); ++i) {
    text.histogram(label("kind", to_string(static_cast<RequestKind>(i))), requests.answered[i]);
  }
  text.metric("simba_request_errors", "counter", "Requests without a definite answer.");
  for (int i = 0; i <= static_cast<int>(ErrorKind::internal); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    const auto found = requests.errors.find(kind);
    std::string name{to_string(kind)};
    std::replace(name.begin(), name.end(), ' ', '_');
    text.sample(label("kind", name), found == requests.errors.end() ? 0 : found->second);
  }
  if (!requests.silent_for) return;
  text.metric("simba_store_silent_seconds", "gauge", "Since the store last answered.");
  text.sample({}, in_seconds(*requests.silent_for));
}

}  // namespace

std::string metrics_text(const Statistics& statistics, MetricsFormat format) {
  Text text{format};
  text.metric("simba_build_info", "gauge", "The version of Simba.");
  text.sample(label("version", version), 1);
  append_mutexes(text, statistics.mutexes);
  append_requests(text, statistics.requests);
  text.metric("simba_delayed_callbacks", "counter",
              "Callbacks, work and loss signals that waited for a thread for a second or longer.");
  text.sample({}, statistics.delayed_callbacks);
  text.metric("simba_dropped_log_lines", "counter", "Log lines dropped since the log is slow.");
  text.sample({}, statistics.dropped_log_lines);
  return text.take();
}

std::string_view content_type(MetricsFormat format) noexcept {
  return format == MetricsFormat::openmetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

MetricsFormat accepted_format(std::string_view accept) noexcept {
  // Prometheus names what it prefers first.
  const std::size_t open = accept.find("application/openmetrics-text");
  const std::size_t plain = accept.find("text/plain");
  return open < plain ? MetricsFormat::openmetrics : MetricsFormat::prometheus;
}

}  // namespace simba
