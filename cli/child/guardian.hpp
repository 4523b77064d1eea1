#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <sys/types.h>

#include "simba/core/time.hpp"

namespace simba::cli {

/// What the command tells its guardian.
struct Order {
  enum class Kind : std::int32_t {
    signal,  ///< send signal `value` to the group
    end,     ///< TERM to the group now, KILL after `value` ms unless all of it is gone
  };
  Kind kind = Kind::signal;
  std::int32_t value = 0;
};

/// What a guardian, and CMD before it is executed, tell the command.
struct Report {
  enum class Kind : std::int32_t {
    forked,   ///< process `value`, which tells it itself, is to become CMD
    started,  ///< CMD runs
    failed,   ///< CMD could not be executed: errno `value`; ECANCELED: it was told to end before
    stopped,  ///< signal `value` stopped CMD
    ended,    ///< the whole group is gone; `value` is the wait status of CMD
  };
  Kind kind = Kind::started;
  std::int32_t value = 0;
  std::int32_t leftovers = 0;  ///< `ended`: 1 where CMD left processes that had to be ended
  std::int32_t forced = 0;     ///< `ended`: 1 where CMD was told to end by order, lease or our end
  std::int32_t survivors = 0;  ///< `ended`: 1 where processes of other users could not be ended
};

/// What both share in memory.
struct Shared {
  std::atomic<LocalTime::rep> lease_end{never.time_since_epoch().count()};
};

/// What a guardian needs, all of it made before the fork.
struct GuardianPlan {
  int channel = -1;     ///< a socket of packets: orders come in, reports go out
  int descriptors = 0;  ///< all are below it
  const Shared* shared = nullptr;
  std::chrono::nanoseconds kill_after{};  ///< from TERM to KILL when the lease or simba is gone
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  int input = -1;             ///< the standard input of CMD; -1: that of simba
  int terminal = -1;          ///< to hand to CMD's group; -1: none
  sigset_t mask{};            ///< of CMD
  bool ignores_pipe = false;  ///< CMD, like whoever has started us, ignores SIGPIPE
};

/// Starts CMD in a process group of its own and sees to it that the group does not outlive the
/// lock: it is ended when the lease in `shared` is over, when the other end of the channel is
/// closed (simba is gone, however that happened), and when an order says so. First TERM, then KILL.
/// CMD is killed by the kernel when the guardian itself is gone. What CMD leaves behind in its
/// group gets a second to end by itself. A CMD whose execution takes until then, as from a file
/// system that hangs, is killed and never runs.
///
/// What CMD starts in other groups of the same session (the jobs of a shell with job control, what
/// a nested `simba run` guards) counts too: it is waited for, and gets the KILL.
///
/// Runs in a forked child of a process with threads, so it uses nothing but system calls: no
/// memory, no locks, no library of ours. Keeps those descriptors that a program inherits, among
/// them the one by which SQLite's store sees that somebody of this process is still alive.
///
/// Not guaranteed: anything for processes that leave the session (setsid), that run as another
/// user, or, when simba and guardian are both killed, for what CMD has started.
[[noreturn]] void run_guardian(const GuardianPlan& plan) noexcept;

}  // namespace simba::cli
