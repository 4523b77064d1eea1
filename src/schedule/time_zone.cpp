#include "schedule/time_zone.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include <fmt/format.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

// The standard library's zones, or those of the library that it was made from.
#if defined(SIMBA_HAS_ZONES) && defined(__cpp_lib_chrono) && __cpp_lib_chrono >= 201907L
namespace zones = std::chrono;
#elif defined(SIMBA_HAS_ZONES)
#include <date/tz.h>
namespace zones = date;
#endif

namespace simba::detail {

namespace {

bool is_utc(std::string_view name) {
  return name == "UTC" || name == "Etc/UTC" || name == "GMT" || name == "Z";
}

}  // namespace

#ifdef SIMBA_HAS_ZONES

namespace {

const zones::time_zone& zone_of(const void* zone) {
  return *static_cast<const zones::time_zone*>(zone);
}

const zones::tzdb& database() {
  try {
    return zones::get_tzdb();
  } catch (const std::exception&) {
    throw InvalidArgumentError{
        "the system's time zone database cannot be read: install tzdata, or use UTC"};
  }
}

std::string_view nearest(const zones::tzdb& database, std::string_view name) {
  std::string_view best;
  std::size_t least = 4;
  for (const auto& zone : database.zones) {
    const auto distance = edit_distance(zone.name(), name);
    if (distance >= least) continue;
    least = distance;
    best = zone.name();
  }
  return best;
}

}  // namespace

TimeZone::TimeZone(std::string_view name) {
  if (is_utc(name)) return;
  const zones::tzdb& all = database();
  try {
    zone_ = zones::locate_zone(name);
    // Read now: a file of the database that is damaged must not be noticed on a timer's thread.
    static_cast<void>(zone_of(zone_).get_info(std::chrono::sys_seconds{}));
  } catch (const std::exception&) {
    const auto similar = name.size() <= 64 ? nearest(all, name) : std::string_view{};
    throw InvalidArgumentError{fmt::format("unknown time zone \"{}\"; {}", excerpt(name),
                                           similar.empty()
                                               ? "expected a name such as Europe/Berlin, or UTC"
                                               : fmt::format("did you mean {}?", similar))};
  }
}

TimeZone::Period TimeZone::period(std::chrono::sys_seconds time) const {
  if (zone_ == nullptr) return {std::chrono::sys_seconds::max(), std::chrono::seconds{0}};
  const auto info = zone_of(zone_).get_info(time);
  return {info.end, info.offset};
}

std::chrono::sys_seconds TimeZone::first_instant(WallTime wall) const {
  if (zone_ == nullptr) return std::chrono::sys_seconds{wall.since_epoch};
  const auto info = zone_of(zone_).get_info(zones::local_seconds{wall.since_epoch});
  if (info.result == zones::local_info::nonexistent) return info.first.end;
  return std::chrono::sys_seconds{wall.since_epoch - info.first.offset};
}

#else

TimeZone::TimeZone(std::string_view name) {
  if (is_utc(name)) return;
  throw InvalidArgumentError{
      fmt::format("time zone \"{}\" is not available: this Simba was built without a time zone "
                  "library; use UTC, or rebuild it with libhowardhinnant-date-dev installed",
                  excerpt(name))};
}

TimeZone::Period TimeZone::period(std::chrono::sys_seconds /*time*/) const {
  return {std::chrono::sys_seconds::max(), std::chrono::seconds{0}};
}

std::chrono::sys_seconds TimeZone::first_instant(WallTime wall) const {
  return std::chrono::sys_seconds{wall.since_epoch};
}

#endif

WallTime TimeZone::wall_time(std::chrono::sys_seconds time) const {
  return {time.time_since_epoch() + period(time).offset};
}

}  // namespace simba::detail
