#include "cli/examination.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/child/lease_keeper.hpp"
#include "cli/errors.hpp"

namespace simba::cli {
namespace {

using engine::Finding;
using std::chrono::milliseconds;
using Weight = Finding::Weight;

/// A round trip that is longer is measured again, on the connection that is there then.
constexpr milliseconds long_trip{10};

/// A lease that is renewed more often than this lives from a store and a machine that never pause.
constexpr milliseconds short_ttl{100};

/// Clocks that differ more than this are worth a word.
constexpr milliseconds large_offset{2'000};

TimedReport timed(engine::StoreAdmin& admin) {
  TimedReport timed;
  timed.asked = wall_now();
  timed.report = admin.examine();
  timed.answered = wall_now();
  return timed;
}

std::string error_text(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::unavailable:
    case ErrorKind::timeout:
    case ErrorKind::in_doubt:
      return fmt::format(
          "{}\nis the store running, is its address correct, and does a firewall block "
          "it?",
          error.what());
    case ErrorKind::permission:
      return error.what();  // it names the privilege; there is no other list
    default:
      return explain(error);
  }
}

}  // namespace

std::string_view name_of(Weight weight) noexcept {
  switch (weight) {
    case Weight::note:
      return "note";
    case Weight::warning:
      return "warning";
    case Weight::problem:
      break;
  }
  return "problem";
}

std::vector<Finding> setting_findings(const config::Configuration& configuration) {
  std::vector<Finding> findings;
  for (const auto& value : configuration.values()) {
    if (value.warning.empty()) continue;
    findings.push_back(
        {.weight = Weight::warning,
         .text = fmt::format("{} from {}: {}", value.key, value.origin, value.warning)});
  }
  return findings;
}

std::vector<Finding> plan_findings(const ContentionPlan& plan) {
  std::vector<Finding> findings;
  if (plan.ttl < short_ttl) {
    findings.push_back(
        {.weight = Weight::warning,
         .text = fmt::format("ttl is very short ({}): a short pause of the machine or of the store "
                             "loses the mutex; use {} or more",
                             to_text(plan.ttl), to_text(short_ttl))});
  }
  if (const auto problem = margin_problem(plan)) {
    findings.push_back({.weight = Weight::problem, .text = *problem});
  }
  return findings;
}

std::optional<ClockOffset> TimedReport::clock() const {
  if (!report.server_time) return std::nullopt;
  return clock_offset(*report.server_time, asked, answered);
}

TimedReport examine(engine::StoreAdmin& admin) {
  TimedReport first = timed(admin);
  if (first.took() <= long_trip) return first;
  TimedReport again = timed(admin);
  return again.took() < first.took() ? std::move(again) : std::move(first);
}

std::string_view relation_of(const ClockOffset& clock) noexcept {
  if (std::chrono::abs(clock.offset) <= clock.error) return "agrees with this host's";
  return clock.offset > milliseconds::zero() ? "is ahead of this host's" : "is behind this host's";
}

std::vector<Finding> clock_findings(const ClockOffset& clock) {
  const auto size = std::chrono::abs(clock.offset);
  if (size <= clock.error + large_offset) return {};
  return {
      {.weight = Weight::warning,
       .text = fmt::format("the clock of the store {} by {}; leases are not affected, because only "
                           "the store's clock counts, but the times shown are: synchronize both "
                           "hosts with a time server",
                           relation_of(clock), to_text(size))}};
}

std::vector<Finding> host_clock_findings(const config::Configuration& configuration,
                                         LeaseClock lease_clock) {
  if (configuration.store() == "sqlite" || configuration.store() == "memory") return {};
  return clock_findings(time_services(), kernel_clock_ppm(), configuration.plan().clock_drift_ppm,
                        lease_clock);
}

Finding finding_of(const Error& error) {
  return {.weight = Weight::problem, .text = error_text(error), .kind = error.kind()};
}

}  // namespace simba::cli
