#include "simba/schedule/slot_options.hpp"

#include <initializer_list>
#include <ostream>

#include <fmt/format.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba {
namespace {

void check_count(std::string_view name, int value, int most) {
  if (value >= 1 && value <= most) return;
  throw InvalidArgumentError{
      fmt::format("{} must be between 1 and {} (got {})", name, most, value)};
}

void check_span(std::string_view name, std::chrono::nanoseconds value) {
  constexpr std::chrono::nanoseconds most = std::chrono::hours{24 * 366};
  if (value >= std::chrono::nanoseconds::zero() && value <= most) return;
  throw InvalidArgumentError{fmt::format("{} must not be negative or longer than 366 days (got {})",
                                         name, detail::seconds_text(value))};
}

}  // namespace

void SlotOptions::check() const {
  check_count("max_attempts", max_attempts, 1000);
  check_count("max_missed", max_missed, 10'000);
  check_count("history", history, 50);
  check_span("retry_pause", retry_pause);
  check_span("jitter", jitter);
  check_span("backfill", backfill);
  if (start_within) check_span("start_within", *start_within);
}

std::string_view to_string(SlotPromise promise) noexcept {
  switch (promise) {
    case SlotPromise::at_most_once:
      return "at most once";
    case SlotPromise::at_least_once:
      return "at least once";
  }
  return "unknown";
}

std::string_view to_string(MissedSlots missed) noexcept {
  switch (missed) {
    case MissedSlots::skip:
      return "skip";
    case MissedSlots::latest:
      return "latest";
    case MissedSlots::all:
      return "all";
  }
  return "unknown";
}

std::string_view to_string(BusySlots busy) noexcept {
  switch (busy) {
    case BusySlots::skip:
      return "skip";
    case BusySlots::queue_one:
      return "queue one";
    case BusySlots::cancel_running:
      return "cancel running";
  }
  return "unknown";
}

std::string to_string(const SlotOptions& options) {
  static const SlotOptions defaults{};
  std::string text;
  const auto add = [&text](bool differs, const std::string& part) {
    if (!differs) return;
    if (!text.empty()) text += ", ";
    text += part;
  };
  add(options.promise != defaults.promise, std::string{to_string(options.promise)});
  add(options.max_attempts != defaults.max_attempts,
      fmt::format("up to {} attempts", options.max_attempts));
  add(options.retry_pause != defaults.retry_pause,
      "repeated after " + detail::seconds_text(options.retry_pause));
  add(options.missed != defaults.missed, fmt::format("missed: {}", to_string(options.missed)));
  add(options.max_missed != defaults.max_missed,
      fmt::format("up to {} missed", options.max_missed));
  add(options.while_busy != defaults.while_busy,
      fmt::format("while busy: {}", to_string(options.while_busy)));
  if (options.start_within) {
    add(true, "start within " + detail::seconds_text(*options.start_within));
  }
  add(options.jitter != defaults.jitter, "jitter " + detail::seconds_text(options.jitter));
  add(options.backfill != defaults.backfill, "backfill " + detail::seconds_text(options.backfill));
  add(options.history != defaults.history, fmt::format("history of {}", options.history));
  return text.empty() ? "defaults" : text;
}

std::ostream& operator<<(std::ostream& out, const SlotOptions& options) {
  return out << to_string(options);
}

}  // namespace simba
