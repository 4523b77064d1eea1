#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string_view>

#include "cli/child/child.hpp"

namespace simba::cli {

/// How a program is looked after.
struct Attendance {
  std::function<LocalTime()> lease_end{};              ///< until when it may run; may grow
  std::chrono::milliseconds kill_after{};              ///< from TERM to KILL when that is over
  std::stop_token stop{};                              ///< ends it
  LocalTime deadline = never;                          ///< ends it, too
  std::function<std::chrono::milliseconds()> grace{};  ///< from TERM to KILL at either of them
  std::function<Child::Sender()> sender{};             ///< of what ends it; empty: anyone
};

/// How long what comes before a release may take where nobody says.
inline constexpr std::string_view default_drain = "90s";

/// How much longer the lease is renewed, so that whatever is killed then is gone before it ends.
inline constexpr std::chrono::milliseconds time_to_kill{10'000};

struct AttendedEnd {
  Child::Event child{};         ///< of kind `ended`
  bool wants_terminal = false;  ///< it was ended since it cannot have the terminal
  bool started = false;         ///< false: its guardian was killed before
};

/// Waits for the end of a program that needs no terminal, on any thread. Throws Failure where it
/// cannot be executed.
AttendedEnd attend(Child& child, const Attendance& attendance);

/// The same for one that is started here, before `farewell`.
AttendedEnd run_attended(const Program& program, const Attendance& attendance,
                         const Child* farewell = nullptr);

}  // namespace simba::cli
