#pragma once

#include <chrono>
#include <string>

namespace simba::cli {

/// The key of `--once-per`: that boundary of the period that is nearest to `now`, the later one of
/// two that are equally near, with its offset from UTC: "2026-11-20T00:00:00+01:00". Processes that
/// ask within half a period of it, before or after, get the same.
///
/// Boundaries are at midnight in the zone, and from there each `period` on; of a period of several
/// days at every so many midnights, counted from Monday 1970-01-05, so that weeks begin on Monday.
/// What clocks skip or repeat is treated as `Cron` does.
///
/// Throws UsageError if the period is not a number of minutes that divides an hour, nor of hours
/// that divides a day, nor of whole days up to 366, or if there is no such zone.
std::string nearest_boundary(std::chrono::milliseconds period, const std::string& zone,
                             std::chrono::sys_seconds now);

}  // namespace simba::cli
