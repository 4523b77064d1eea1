#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "cli/child/child.hpp"

namespace simba::cli {

/// How a program of `elect` or `schedule` is looked after; `run` has a loop of its own.
struct Supervision {
  std::function<LocalTime()> lease_end{};              ///< until when it may run; may grow
  std::chrono::milliseconds kill_after{};              ///< from `lease_end` to KILL
  std::stop_token stop{};                              ///< ends it
  LocalTime deadline = never;                          ///< ends it, too
  std::function<std::chrono::milliseconds()> grace{};  ///< from TERM to KILL at either of them
  std::function<Child::Sender()> sender{};             ///< of what ends it; empty: anyone
};

/// How long what comes before a release may take where nobody says.
inline constexpr std::string_view default_drain = "90s";

/// How much longer the lease is renewed, so that whatever is killed then is gone before it ends.
inline constexpr std::chrono::milliseconds time_to_kill{10'000};

struct SupervisedEnd {
  Child::Event child{};         ///< of kind `ended`
  bool wants_terminal = false;  ///< it was ended since it cannot have the terminal
  bool started = false;         ///< false: its guardian was killed before
};

/// What went wrong, to be put after the name of the program: "exited with code 3". Empty: nothing.
std::string problem_of(const SupervisedEnd& end);

/// Waits for the end of a program that needs no terminal, on any thread. Throws Failure where it
/// cannot be executed.
SupervisedEnd supervise(Child& child, const Supervision& supervision);

/// The same for one that is started here, before `release_hook`.
SupervisedEnd run_supervised(const Program& program, const Supervision& supervision,
                             const Child* release_hook = nullptr);

}  // namespace simba::cli
