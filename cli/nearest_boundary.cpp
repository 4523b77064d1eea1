#include "cli/nearest_boundary.hpp"

#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "core/text.hpp"
#include "simba/core/error.hpp"
#include "simba/schedule/cron.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;

constexpr std::chrono::sys_days first_monday{std::chrono::year{1970} / 1 / 5};

/// The boundaries within one day.
std::string expression_of(std::chrono::milliseconds period) {
  if (period % days{1} == 0ms && period <= days{366}) return "0 0 * * *";
  if (period == 1h) return "0 * * * *";
  if (period % 1h == 0ms && days{1} % period == 0ms) {
    // A list, not a step: fixed times count once when the clocks are put back.
    std::string hours = "0";
    for (auto hour = period; hour < days{1}; hour += period) {
      hours += fmt::format(",{}", hour / 1h);
    }
    return fmt::format("0 {} * * *", hours);
  }
  if (period % 1min == 0ms && 1h % period == 0ms) {
    return fmt::format("*/{} * * * *", period / 1min);
  }
  throw UsageError{
      "--once-per must be a number of minutes that divides an hour, of hours that divides a day, "
      "or of whole days up to 366, for example 15m, 6h, 24h or 168h"};
}

/// From the first Monday of 1970 to the local day of `time`.
std::int64_t day_of(const Cron& cron, Cron::Time time) {
  const std::string text = cron.local_text(time);  // "2026-11-20T..."
  const std::string_view view = text;
  const auto number = [&](std::size_t at, std::size_t size) {
    return detail::parse_number<int>(view.substr(at, size)).value_or(0);
  };
  const std::chrono::sys_days day{std::chrono::year{number(0, 4)} /
                                  std::chrono::month{static_cast<unsigned>(number(5, 2))} /
                                  std::chrono::day{static_cast<unsigned>(number(8, 2))}};
  return (day - first_monday).count();
}

}  // namespace

std::string nearest_boundary(std::chrono::milliseconds period, const std::string& zone,
                             std::chrono::sys_seconds now) {
  if (period <= 0ms) throw UsageError{"--once-per must be more than 0"};
  const std::string expression = expression_of(period);
  try {
    const Cron cron{expression, zone};
    const std::int64_t days_between = period / days{1};
    const auto is_boundary = [&](Cron::Time time) {
      return days_between < 2 || day_of(cron, time) % days_between == 0;
    };
    Cron::Time before{};
    // Days that the clocks make longer or shorter are within the two that are added.
    auto time = now - std::chrono::ceil<std::chrono::seconds>(period) - days{2};
    for (;;) {
      time = cron.next(time).value();
      if (!is_boundary(time)) continue;
      if (time > now) break;
      before = time;
    }
    return cron.local_text(time - now <= now - before ? time : before);
  } catch (const InvalidArgumentError& e) {
    throw UsageError{e.what()};
  }
}

}  // namespace simba::cli
