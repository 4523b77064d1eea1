#pragma once

#include <chrono>
#include <functional>
#include <stop_token>

#include "cli/child/child.hpp"

namespace simba::cli {

/// How a program is looked after.
struct Attendance {
  std::function<LocalTime()> lease_end{};              ///< until when it may run; may grow
  std::chrono::milliseconds kill_after{};              ///< from TERM to KILL when that is over
  std::stop_token stop{};                              ///< ends it
  std::function<std::chrono::milliseconds()> grace{};  ///< from TERM to KILL when `stop` fires
};

struct AttendedEnd {
  Child::Event child{};         ///< of kind `ended`
  bool wants_terminal = false;  ///< it was ended since it can not have the terminal
};

/// Runs a program that needs no terminal and waits for its end, on any thread. Throws Failure where
/// it can not be executed.
AttendedEnd run_attended(const Program& program, const Attendance& attendance);

}  // namespace simba::cli
