#include "schedule/slot_times.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "core/text.hpp"
#include "schedule/slot_record.hpp"

namespace simba::detail {

using std::chrono::milliseconds;

SlotTimes::SlotTimes(const ScheduleConfig& config)
    : cron_{config.cron}, period_{std::chrono::floor<milliseconds>(config.period)} {}

// Stores keep this text: it must never change.
std::string SlotTimes::text_of(const ScheduleConfig& config) {
  using std::chrono::floor;
  const std::string text =
      config.cron
          ? fmt::format("cron {} in {}", config.cron->expression(), config.cron->zone())
          : fmt::format("every {} ms after {} ms", floor<milliseconds>(config.period).count(),
                        floor<milliseconds>(config.initial_delay).count());
  return text.size() <= longest_fingerprint ? text : fmt::format("{:016x}", fnv1a(text));
}

std::optional<SlotTimes> SlotTimes::parse(const std::string& text) try {
  constexpr std::string_view cron = "cron ";
  constexpr std::string_view every = "every ";
  constexpr std::string_view in = " in ";
  if (text.starts_with(cron)) {
    const auto end = text.rfind(in);
    if (end == std::string::npos || end < cron.size()) return std::nullopt;
    return SlotTimes{ScheduleConfig::shared(
        Cron{text.substr(cron.size(), end - cron.size()), text.substr(end + in.size())})};
  }
  if (!text.starts_with(every)) return std::nullopt;
  const milliseconds period{std::stoll(text.substr(every.size()))};
  if (period <= milliseconds::zero() || period > std::chrono::hours{24} * 366 * 100) {
    return std::nullopt;
  }
  return SlotTimes{ScheduleConfig::shared_rate({}, period)};
} catch (const std::exception&) {
  return std::nullopt;
}

/// The number of the last slot at or before `time`; that of the anchor is 0.
std::int64_t SlotTimes::index_up_to(SystemTime anchor, SystemTime time) const {
  const auto distance = time - anchor;
  const auto whole = distance / period_;
  return distance % period_ < milliseconds::zero() ? whole - 1 : whole;
}

std::optional<SystemTime> SlotTimes::next(SystemTime anchor, SystemTime time) const {
  if (!cron_) return anchor + (index_up_to(anchor, time) + 1) * period_;
  return cron_->next(std::chrono::floor<std::chrono::seconds>(time));
}

SlotTimes::Span SlotTimes::span(SystemTime anchor, SystemTime after, SystemTime until,
                                std::uint64_t keep) const {
  Span span{.count = 0, .before_kept = after, .last = {}};
  if (until <= after) return span;
  if (!cron_) {
    const auto first = index_up_to(anchor, after) + 1;
    const auto last = index_up_to(anchor, until);
    if (last < first) return span;
    span.count = static_cast<std::uint64_t>(last - first + 1);
    span.last = anchor + last * period_;
    if (span.count > keep) {
      span.before_kept = anchor + (last - static_cast<std::int64_t>(keep)) * period_;
    }
    return span;
  }
  // Backwards in growing steps, since only the last ones count, and there may be very many.
  const std::uint64_t wanted = std::max<std::uint64_t>(keep, 1000);
  std::deque<SystemTime> kept;  // one more than `keep`, so that its first is before those
  for (milliseconds width = std::chrono::hours{1};; width *= 2) {
    const SystemTime from = width < until - after ? until - width : after;
    kept.clear();
    span.count = 0;
    for (auto time = next(anchor, from); time && *time <= until; time = next(anchor, *time)) {
      ++span.count;
      kept.push_back(*time);
      if (kept.size() > keep + 1) kept.pop_front();
    }
    if (from == after || span.count > wanted) break;
  }
  if (span.count == 0) return span;
  span.last = kept.back();
  if (span.count > keep) span.before_kept = kept.front();
  return span;
}

}  // namespace simba::detail
