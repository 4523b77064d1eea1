#include "cli/output/times.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <ratio>

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "simba/config/duration.hpp"
#include "simba/core/error.hpp"

namespace simba::cli {
namespace {

struct Parts {
  std::tm calendar{};
  int milliseconds = 0;
};

enum class Zone { local, utc };

Parts parts_of(WallTime moment, Zone zone) {
  const auto second = std::chrono::floor<std::chrono::seconds>(moment);
  const std::time_t seconds = second.time_since_epoch().count();
  Parts parts;
  parts.milliseconds = static_cast<int>((moment - second).count());
  if (zone == Zone::utc) {
    ::gmtime_r(&seconds, &parts.calendar);
  } else {
    ::localtime_r(&seconds, &parts.calendar);
  }
  return parts;
}

std::string date_of(const std::tm& t) {
  return fmt::format("{:04}-{:02}-{:02}", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

std::string time_of(const std::tm& t) {
  return fmt::format("{:02}:{:02}:{:02}", t.tm_hour, t.tm_min, t.tm_sec);
}

}  // namespace

std::chrono::milliseconds parse_duration(std::string_view text, std::string_view option) {
  try {
    return config::parse_duration(text);
  } catch (const Error& error) {
    throw UsageError{fmt::format("{}: {}", option, error.what())};
  }
}

std::chrono::milliseconds parse_max_hold(std::string_view text) {
  const auto limit = parse_duration(text, "--max-hold");
  if (limit.count() > 0) return limit;
  throw UsageError{fmt::format("--max-hold must be more than 0 (got {})", text)};
}

std::string to_text(std::chrono::nanoseconds span) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  if (count < 1'000) return fmt::format("{} ms", count);
  if (count < 120'000) {
    const auto tenths = static_cast<double>(count / 100);  // NOLINT(bugprone-integer-division): cut
    return fmt::format("{:.6g} s", tenths / 10.0);
  }
  return fmt::format("{} min", count / 60'000);
}

std::string at_most(std::chrono::nanoseconds span) {
  // In the steps in which a time is shown, see to_text.
  using Tenths = std::chrono::duration<std::int64_t, std::deci>;
  using namespace std::chrono_literals;
  if (span < 1s) return "at most " + to_text(std::chrono::ceil<std::chrono::milliseconds>(span));
  if (span < 119s) return "at most " + to_text(std::chrono::ceil<Tenths>(span));
  return "at most " + to_text(std::chrono::ceil<std::chrono::minutes>(span));
}

WallTime wall_now() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

WallTime shown(StoreTime moment) {
  constexpr WallTime first{};
  constexpr WallTime last{std::chrono::milliseconds{253'402'300'799'999}};  // of the year 9999
  return std::clamp(WallTime{moment.time_since_epoch()}, first, last);
}

std::string to_utc(WallTime moment) {
  const Parts parts = parts_of(moment, Zone::utc);
  return fmt::format("{}T{}.{:03}Z", date_of(parts.calendar), time_of(parts.calendar),
                     parts.milliseconds);
}

std::string to_date_and_time(WallTime moment) {
  const Parts parts = parts_of(moment, Zone::local);
  return date_of(parts.calendar) + " " + time_of(parts.calendar);
}

std::string to_time(WallTime moment) {
  const Parts parts = parts_of(moment, Zone::local);
  return fmt::format("{}.{:03}", time_of(parts.calendar), parts.milliseconds);
}

ClockOffset clock_offset(StoreTime told, WallTime asked, WallTime answered) {
  const auto half = (answered - asked) / 2;
  // One more for the milliseconds that both clocks are cut down to.
  return {.offset = shown(told) - (asked + half), .error = half + std::chrono::milliseconds{1}};
}

}  // namespace simba::cli
