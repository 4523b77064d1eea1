#pragma once

#include <memory>

#include "simba/core/log.hpp"
#include "simba/core/runtime.hpp"

namespace simba::cli {

/// From here on lines of the log are objects, as --json asks: event, level, message.
void log_objects() noexcept;

/// The library's log on standard error, each line with "simba: " in front. `verbosity`: 0 shows
/// what is at least `quiet`, 1 also information, 2 all.
std::shared_ptr<Logger> make_log(int verbosity, LogLevel quiet = LogLevel::error);

/// The runtime of a command: real clock, few threads, this log.
std::shared_ptr<const Runtime> make_command_runtime(int verbosity,
                                                    LogLevel quiet = LogLevel::error);

}  // namespace simba::cli
