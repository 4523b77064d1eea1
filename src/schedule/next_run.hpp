#pragma once

#include <chrono>

#include "simba/core/time.hpp"
#include "simba/schedule/schedule_config.hpp"

namespace simba::detail {

/// `moment + span`, or `never` where that does not fit. `span` is not negative.
LocalTime later(LocalTime moment, std::chrono::nanoseconds span) noexcept;

/// When the run after one that ended `now` is due. `first` is when the first one was.
LocalTime next_run(const ScheduleConfig& config, LocalTime first, LocalTime now) noexcept;

}  // namespace simba::detail
