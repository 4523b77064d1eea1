#include "cli/terminal/timestamps.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

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

}  // namespace simba::cli
