#include "simba/core/metrics_text.hpp"

#include <iterator>
#include <string>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

#include "simba/core/metrics.hpp"

namespace simba {

namespace {

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

std::string text_of(const std::vector<MetricSample::Label>& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped(value));
  }
  return text;
}

template <typename Number>
void append_line(std::string& text, std::string_view name, std::string_view suffix,
                 std::string_view labels, Number value) {
  const std::string_view open = labels.empty() ? "" : "{";
  const std::string_view close = labels.empty() ? "" : "}";
  fmt::format_to(std::back_inserter(text), "{}{}{}{}{} {}\n", name, suffix, open, labels, close,
                 value);
}

void append_histogram(std::string& text, std::string_view name, const std::string& labels,
                      const Durations& durations) {
  const auto seconds = [](std::chrono::nanoseconds span) {
    return std::chrono::duration<double>(span).count();
  };
  const std::string_view comma = labels.empty() ? "" : ",";
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < Durations::bounds.size(); ++i) {
    count += durations.counts[i];
    append_line(text, name, "_bucket",
                fmt::format("{}{}le=\"{}\"", labels, comma, seconds(Durations::bounds[i])), count);
  }
  count += durations.counts.back();
  append_line(text, name, "_bucket", fmt::format("{}{}le=\"+Inf\"", labels, comma), count);
  append_line(text, name, "_sum", labels, seconds(durations.total));
  append_line(text, name, "_count", labels, count);
}

void append_sample(std::string& text, std::string_view name, const MetricSample& sample) {
  const std::string labels = text_of(sample.labels);
  std::visit(
      [&](const auto& value) {
        if constexpr (std::is_same_v<decltype(value), const Durations&>) {
          append_histogram(text, name, labels, value);
        } else {
          append_line(text, name, "", labels, value);
        }
      },
      sample.value);
}

}  // namespace

std::string metrics_text(const Statistics& statistics, MetricsFormat format) {
  std::string text;
  for (const Metric& metric : metrics_of(statistics)) {
    // Only in the older format the suffix is a part of a counter's name.
    std::string_view name = metric.name;
    if (format == MetricsFormat::openmetrics && metric.type == MetricType::counter) {
      name.remove_suffix(std::string_view{"_total"}.size());
    }
    fmt::format_to(std::back_inserter(text), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, metric.help,
                   to_string(metric.type));
    for (const MetricSample& sample : metric.samples) append_sample(text, metric.name, sample);
  }
  if (format == MetricsFormat::openmetrics) text += "# EOF\n";
  return text;
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
