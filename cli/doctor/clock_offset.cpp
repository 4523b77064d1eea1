#include "cli/doctor/clock_offset.hpp"

namespace simba::cli {

TimedReport timed_report(engine::StoreAdmin& admin) {
  TimedReport timed;
  timed.asked = wall_now();
  timed.report = admin.examine();
  timed.answered = wall_now();
  return timed;
}

std::optional<ClockOffset> clock_offset(const TimedReport& timed) {
  if (!timed.report.server_time) return std::nullopt;
  const auto half = timed.took() / 2;
  // One more for the milliseconds that both clocks are cut down to.
  return ClockOffset{.offset = shown(*timed.report.server_time) - (timed.asked + half),
                     .error = half + std::chrono::milliseconds{1}};
}

}  // namespace simba::cli
