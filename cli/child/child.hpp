#pragma once

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "cli/child/guardian.hpp"
#include "simba/core/time.hpp"

namespace simba::cli {

/// That a program is to run at the end of an ownership, however that comes.
struct ReleaseHook {
  std::pair<std::string, std::string> lost_variable{};  ///< where the mutex is lost already
  std::chrono::milliseconds limit{};                    ///< how long it may run then
  // Lines for standard error when simba is gone.
  std::string done{};
  std::string failed{};
  std::string killed{};
};

/// Which passwords of our environment a program gets.
struct Passwords {
  bool shared = false;  ///< all; else none of SIMBA_*_PASSWORD, SIMBA_BACKEND and SIMBA_*_URL
  std::vector<std::string> variables{};  ///< that have one besides: kept from it, too
};

/// A program to run while a mutex is held.
struct Program {
  enum class Input { ours, none };

  std::vector<std::string> words{};  ///< the program, searched in PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> variables{};  ///< besides our environment
  Passwords passwords{};
  Input input = Input::ours;
  int output = -1;                            ///< its standard output; -1: ours
  int errors = -1;                            ///< its standard error; -1: ours
  int terminal = -1;                          ///< to hand to it; -1: none
  sigset_t mask{};                            ///< its signal mask
  bool ignores_pipe = false;                  ///< whether it ignores SIGPIPE
  pid_t manager = 1;                          ///< the service manager
  std::vector<int> passed_on{};               ///< descriptors that it gets besides 0, 1, 2; sorted
  std::optional<ReleaseHook> release_hook{};  ///< it is waited for; empty: it runs at once
};

/// A running program in a process group of its own, under a guardian: see `run_guardian`.
///
/// Threads: used by one thread at a time, but for `extend`, which any may call. At most one object
/// in a process at a time, besides a release hook that is waited for.
class Child {
 public:
  /// Begins to start it. `kill_after`: from the end of the lease to KILL. It does not begin
  /// to run when the lease is over, or after `end()`. `release_hook`: what runs only after all of
  /// this one is gone, even if we are.
  Child(const Program& program, LocalTime lease_end, std::chrono::nanoseconds kill_after,
        const Child* release_hook = nullptr);

  /// Ends the group, if it still runs, and waits for that. A release hook that was waited for is
  /// left to its guardian, which takes us for gone.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Readable when `next()` has something.
  int file() const noexcept { return channel_; }

  struct Event {
    enum class Kind {
      started,  ///< it runs
      stopped,  ///< by signal `value`
      ended,    ///< with wait status `value`; nothing of its group is left
    };
    Kind kind = Kind::ended;
    int value = 0;
    bool leftovers = false;  ///< it had left processes behind, which were ended
    bool forced = false;     ///< it was told to end, by `end()` or since its lease was over
    bool killed = false;     ///< TERM was not enough for that; what it did may be unfinished
    bool unguarded = false;  ///< the guardian was killed; so the group was, too
    bool overdue = false;    ///< we did so, since it had not ended the group in time
    bool survivors = false;  ///< it has processes of other users, which could not be ended
  };

  /// What has happened; empty: nothing new. Does not wait, unless the guardian was killed. Throws
  /// Failure: 126 or 127 where it cannot be executed, 76 where it was to end before.
  std::optional<Event> next();

  /// Runs the release hook, unless its guardian does so already.
  enum class Occasion { release, loss };
  void begin(Occasion occasion) noexcept;

  /// The group may run on until `lease_end`.
  void extend(LocalTime lease_end) noexcept;

  /// Whether a signal came from the service manager, who may have sent it to the group, too. Then
  /// the group gets it once.
  enum class Sender { anyone, manager };

  /// To the whole group.
  void signal(int number, Sender sender = Sender::anyone) noexcept;

  /// TERM to the group now, KILL after `kill_after`, counted from the end of the lease if that is
  /// over. Call `next()` every few milliseconds from then on: it notices when the guardian does
  /// not do so.
  void end(std::chrono::milliseconds kill_after, Sender sender = Sender::anyone) noexcept;

  /// -1 until it is known.
  pid_t group() const noexcept { return group_; }

 private:
  void order(const Order& order) const noexcept;
  void expect_end(std::chrono::nanoseconds kill_after) noexcept;
  Event end_unguarded() noexcept;
  void open_guardian() noexcept;
  void wait_for_guardian() noexcept;
  void reap_guardian() noexcept;

  const std::string name_;
  const std::chrono::nanoseconds kill_after_;
  Shared* shared_ = nullptr;
  int channel_ = -1;
  pid_t guardian_ = -1;
  int guardian_file_ =
      -1;  // stands for it; -1: it is gone already, or the kernel has no such thing
  pid_t group_ = -1;
  const pid_t spared_;  // the guardian of the release hook
  bool waits_;          // a release hook
  bool ended_ = false;
  LocalTime overdue_at_ = never;  // the guardian should have ended the group by then
  bool overdue_ = false;          // it had not
};

/// The longest pause between two calls of `Child::next()` after `Child::end()`.
inline constexpr std::chrono::milliseconds look_at_end{5};

/// The descriptors of this process that are open, in order. Where /proc is missing, those below
/// 1024.
std::vector<int> open_descriptors();

/// The exit code that a shell shows for a wait status.
int exit_code_of_status(int status) noexcept;

}  // namespace simba::cli
