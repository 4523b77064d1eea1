#pragma once

#include <memory>

#include "core/threads/thread_group.hpp"
#include "simba/core/log.hpp"
#include "simba/core/timer.hpp"

namespace simba::detail {

/// Timers on one thread of `group`. A timer keeps its service, and so the thread, alive.
///
/// In a forked child `create` throws IllegalStateError and `arm` does nothing: the thread exists in
/// the parent only.
std::shared_ptr<TimerService> make_asio_timers(std::shared_ptr<const ThreadGroup> group,
                                               std::shared_ptr<Logger> log);

}  // namespace simba::detail
