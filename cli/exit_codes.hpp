#pragma once

#include "simba/core/error.hpp"

namespace simba::cli {

/// How the command ends. Scripts rely on these numbers: they do not change. `simba run` ends as its
/// CMD did unless one of them applies; 128 + n where signal n ended CMD, or simba while it waited.
enum class ExitCode : int {
  success = 0,
  not_leader = 1,      ///< `simba is-leader`: the owner is another, or nobody
  usage = 64,          ///< the command line is wrong
  unavailable = 69,    ///< the store cannot be reached, or does not answer
  internal = 70,       ///< a fault of ours, or of the machine
  not_acquired = 75,   ///< another owned the mutex for all the time given
  lost = 76,           ///< the mutex was lost while CMD ran
  refused = 77,        ///< permission or authentication
  configuration = 78,  ///< a setting is wrong or missing, or another uses the same contender id
  not_released = 79,   ///< the mutex was not released: what had to end first had not ended
  held_too_long = 80,  ///< CMD was told to end, and has, since it had the mutex for --max-hold
  not_repeated = 81,   ///< an earlier run of the slot did not end well, and no attempt is left
  not_executable = 126,
  not_found = 127,
};

constexpr int to_int(ExitCode code) noexcept { return static_cast<int>(code); }

/// What a shell shows for a program that was ended by a signal.
constexpr int exit_code_of_signal(int signal) noexcept { return 128 + signal; }

/// What an error of this kind ends the command with.
ExitCode exit_code_of(ErrorKind kind) noexcept;

}  // namespace simba::cli
