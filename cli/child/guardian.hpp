#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>

#include "simba/core/time.hpp"

namespace simba::cli {

/// What the command tells its guardian.
struct Order {
  enum class Kind : std::int32_t {
    signal,  ///< send signal `value` to the group
    end,     ///< TERM to the group now, KILL after `value` ms unless all of it is gone. These
             ///< count from the end of the lease if that is over
    begin,   ///< run a release hook; `value` is 1 where the mutex is lost already
  };
  Kind kind = Kind::signal;
  std::int32_t value = 0;
  std::int32_t by_manager = 0;  ///< 1: for a signal of the service manager, who may have sent it to
                                ///< CMD already: the group gets it only if we have not got it, too
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
  std::int32_t killed = 0;     ///< `ended`: 1 where TERM was not enough for that
  std::int32_t survivors = 0;  ///< `ended`: 1 where processes of other users could not be ended
};

/// What both share in memory.
struct Shared {
  std::atomic<LocalTime::rep> lease_end{never.time_since_epoch().count()};
};

/// For a CMD that is to run at the end of an ownership, however that comes.
struct ReleaseHookPlan {
  char* const* lost_envp = nullptr;  ///< instead of `envp` where the mutex is lost already
  std::chrono::nanoseconds limit{};  ///< how long it may run then
  // Lines for standard error when simba is gone.
  const char* done = nullptr;
  const char* failed = nullptr;
  const char* killed = nullptr;  ///< it was not over when the lease was, or the limit
};

/// What a guardian needs, all of it made before the fork.
struct GuardianPlan {
  int channel = -1;                ///< a socket of packets: orders come in, reports go out
  int descriptors = 0;             ///< all are below it
  const int* passed_on = nullptr;  ///< those that CMD gets besides 0, 1 and 2, sorted
  std::size_t passed_on_count = 0;
  const Shared* shared = nullptr;
  std::chrono::nanoseconds kill_after{};  ///< from the end of the lease, or of simba, to KILL
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  int input = -1;             ///< the standard input of CMD; -1: that of simba
  int output = -1;            ///< its standard output; as above
  int errors = -1;            ///< its standard error; as above
  int terminal = -1;          ///< to hand to CMD's group; -1: none
  sigset_t mask{};            ///< of CMD
  bool ignores_pipe = false;  ///< CMD, like whoever has started us, ignores SIGPIPE
  pid_t manager = 1;          ///< the service manager; the process 1 is taken for one anyway
  int kept = -1;              ///< one more descriptor to keep open; -1: none
  const ReleaseHookPlan* release_hook = nullptr;  ///< null: CMD runs at once
};

/// Starts CMD in a process group of its own and sees to it that the group does not outlive the
/// lock: it is ended when the lease in `shared` is over, when the other end of the channel is
/// closed (simba is gone, however that happened), and when an order says so. First TERM, then KILL,
/// which is due at a fixed time after the end of the lease, however late the guardian notices it.
/// CMD is killed by the kernel when the guardian itself is gone. What CMD leaves behind in its
/// group gets a second to end by itself. A CMD whose execution takes until then, as from a file
/// system that hangs, is killed and never runs.
///
/// A service manager may signal all processes of a service (KillMode=control-group of systemd):
/// then we get what simba gets, although we are in another group, and so does CMD. Simba's order to
/// hand the same on waits a moment for that, so that CMD gets it once.
///
/// A release hook is waited for: CMD runs when an order says so, at once when simba is gone, and
/// when the lease is over although simba has said nothing, since it is stopped. It goes on without
/// simba, until the lease is over. What becomes of it then is told on standard error.
///
/// What CMD starts in other groups of the same session (the jobs of a shell with job control, what
/// a nested `simba run` guards) counts too: it is waited for, and gets the KILL.
///
/// Runs in a forked child of a process with threads, so it uses nothing but system calls: no
/// memory, no locks, no library of ours. Keeps no descriptor of ours but the one by which SQLite's
/// store sees that somebody of this process is still alive; neither does CMD.
///
/// Not guaranteed: anything for processes that leave the session (setsid), that run as another
/// user, or, when simba and guardian are both killed, for what CMD has started.
[[noreturn]] void run_guardian(const GuardianPlan& plan) noexcept;

}  // namespace simba::cli
