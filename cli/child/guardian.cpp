#include "cli/child/guardian.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child/descendants.hpp"

namespace simba::cli {
namespace {

using Nanoseconds = LocalTime::rep;

constexpr Nanoseconds forever = never.time_since_epoch().count();
constexpr Nanoseconds look_again = 5'000'000;
constexpr Nanoseconds look_closer = 10'000'000;  // at every process there is
constexpr Nanoseconds linger = 1'000'000'000;

// How long a service manager takes at most to signal the other processes of a service, and for how
// long what it has sent to us may still explain an order.
constexpr Nanoseconds manager_takes = 200'000'000;
constexpr Nanoseconds explains = 1'000'000'000;
constexpr int signals_known = 32;

Nanoseconds now() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

Nanoseconds later(Nanoseconds moment, Nanoseconds span) noexcept {
  return moment > forever - span ? forever : moment + span;
}

/// Whether it is what SQLite's store wants a program to inherit: a regular file that can only be
/// read. A library may have forgotten to mark a socket as ours; nobody shall have that.
bool shows_that_we_live(int file) noexcept {
  const auto flags = static_cast<unsigned>(::fcntl(file, F_GETFD));
  const auto access = static_cast<unsigned>(::fcntl(file, F_GETFL)) & O_ACCMODE;
  struct stat status {};
  return (flags & FD_CLOEXEC) == 0 && access == O_RDONLY && ::fstat(file, &status) == 0 &&
         S_ISREG(status.st_mode);
}

/// What is neither ours nor CMD's. CMD gets what the caller has passed on, whatever libraries have
/// opened since.
void close_private_descriptors(const GuardianPlan& plan) noexcept {
  const int* const passed_on_end = plan.passed_on + plan.passed_on_count;
  for (int file = 3; file < plan.descriptors; ++file) {
    if (file == plan.channel || file == plan.input || file == plan.kept) continue;
    if (file == plan.output || file == plan.errors) continue;
    if (std::binary_search(plan.passed_on, passed_on_end, file)) continue;
    if (!shows_that_we_live(file)) ::close(file);
  }
  // What other threads have opened meanwhile. A kernel before 5.9 does not know it.
  ::syscall(SYS_close_range, static_cast<unsigned>(plan.descriptors), ~0U, 0U);
}

void send_report(const GuardianPlan& plan, const Report& report) noexcept {
  ::send(plan.channel, &report, sizeof report, MSG_NOSIGNAL);
}

/// The child: becomes CMD. It tells its number itself, so that simba knows it before CMD does
/// anything, even if the guardian is killed at that moment.
[[noreturn]] void become_command(const GuardianPlan& plan, char* const* envp, pid_t guardian,
                                 int failure) noexcept {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guardian) ::_exit(1);
  send_report(plan, {.kind = Report::Kind::forked, .value = ::getpid()});
  if (plan.terminal >= 0) ::tcsetpgrp(plan.terminal, ::getpid());
  if (plan.input >= 0) ::dup2(plan.input, STDIN_FILENO);
  if (plan.output >= 0) ::dup2(plan.output, STDOUT_FILENO);
  if (plan.errors >= 0) ::dup2(plan.errors, STDERR_FILENO);
  if (!plan.ignores_pipe) ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &plan.mask, nullptr);
  ::execvpe(plan.argv[0], plan.argv, envp);
  const int error = errno;
  [[maybe_unused]] const auto ignored = ::write(failure, &error, sizeof error);
  ::_exit(1);
}

/// A line for people, when nobody else can tell them. Rather not than to wait.
void say(const char* line) noexcept {
  pollfd file{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&file, 1, 0) != 1) return;
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, line, std::strlen(line));
}

class Guardian {
 public:
  explicit Guardian(const GuardianPlan& plan) noexcept : plan_{plan} {}

  /// True when there is something to guard.
  bool start() noexcept;
  void guard() noexcept;

 private:
  void stand_by() noexcept;
  bool launch() noexcept;
  void wait_for_news() noexcept;
  Nanoseconds wake_at() const noexcept;
  void obey() noexcept;
  void reap() noexcept;
  void look_at_start() noexcept;
  void look_at_clock() noexcept;
  bool all_is_gone() noexcept;
  enum class Term { now, once };
  void end(Nanoseconds kill_after, Term term = Term::now) noexcept;
  void hear(const signalfd_siginfo& signal) noexcept;
  void signal_once(int number) noexcept;
  void send_deferred() noexcept;
  void report(const Report& report) const noexcept { send_report(plan_, report); }
  void tell_fate() const noexcept;
  void signal_group(int number) const noexcept;
  Nanoseconds lease_end() const noexcept { return lost_ ? limit_ : plan_.shared->lease_end.load(); }

  const GuardianPlan& plan_;
  int signals_ = -1;
  int clock_ = -1;
  int failure_ = -1;        // tells why CMD cannot be executed, and, closed, that it is
  pid_t group_ = -1;        // that of CMD, which has the same number
  bool starting_ = false;   // CMD is not executed yet
  bool cancelled_ = false;  // nor will it be
  bool childless_ = false;
  bool orphaned_ = false;  // simba is gone
  bool lost_ = false;      // a release hook for a mutex that is lost: `limit_` counts, no lease
  Nanoseconds limit_ = forever;
  bool ended_ = false;  // CMD is
  int status_ = SIGKILL;
  bool ending_ = false;
  bool killing_ = false;
  bool leftovers_ = false;
  bool forced_ = false;
  bool killed_ = false;
  bool survivors_ = false;
  Nanoseconds kill_at_ = forever;
  Nanoseconds look_closer_at_ = 0;
  Nanoseconds linger_until_ = forever;
  Nanoseconds heard_at_[signals_known] =
      {};  // from the service manager; 0: it was not, or it no longer counts
  Nanoseconds send_at_[signals_known] = {};  // what waits whether we hear it too; 0: nothing
};

bool Guardian::start() noexcept {
  sigset_t all;
  sigset_t heeded;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::sigemptyset(&heeded);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    ::sigaddset(&heeded, number);
  }
  close_private_descriptors(plan_);
  ::setpgid(0, 0);  // what is sent to simba's group is simba's to forward
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "simba-guardian");
  signals_ = ::signalfd(-1, &heeded, SFD_CLOEXEC | SFD_NONBLOCK);
  clock_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (plan_.release_hook != nullptr) stand_by();
  return launch();
}

/// Until a release hook is to run.
void Guardian::stand_by() noexcept {
  bool begun = false;
  while (!begun && !orphaned_ && now() < lease_end()) {
    wait_for_news();
    Order order;
    const auto size = ::recv(plan_.channel, &order, sizeof order, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    orphaned_ = size <= 0;
    begun = !orphaned_ && order.kind == Order::Kind::begin;
    lost_ = begun && order.value != 0;
  }
  lost_ = lost_ || (!begun && now() >= lease_end());
  limit_ = later(now(), plan_.release_hook->limit.count());
}

bool Guardian::launch() noexcept {
  if (plan_.release_hook == nullptr && now() >= lease_end()) {
    report({.kind = Report::Kind::failed, .value = ECANCELED});
    return false;
  }
  int failure[2] = {-1, -1};
  const pid_t guardian = ::getpid();
  const bool ready = signals_ >= 0 && clock_ >= 0 && ::pipe2(failure, O_CLOEXEC | O_NONBLOCK) == 0;
  signalfd_siginfo signal{};
  while (::read(signals_, &signal, sizeof signal) > 0) hear(signal);
  if (ready) group_ = ::fork();
  if (!ready || group_ < 0) {
    report({.kind = Report::Kind::failed, .value = errno});
    return false;
  }
  if (group_ == 0) {
    become_command(plan_, lost_ ? plan_.release_hook->lost_envp : plan_.envp, guardian, failure[1]);
  }
  ::setpgid(group_, group_);
  ::close(failure[1]);
  failure_ = failure[0];
  starting_ = true;
  return true;
}

void Guardian::guard() noexcept {
  for (;;) {
    wait_for_news();
    if (!orphaned_) obey();
    reap();
    if (starting_) look_at_start();
    if (all_is_gone()) break;
    look_at_clock();
  }
  if (cancelled_) return report({.kind = Report::Kind::failed, .value = ECANCELED});
  report({.kind = Report::Kind::ended,
          .value = status_,
          .leftovers = leftovers_ ? 1 : 0,
          .forced = forced_ ? 1 : 0,
          .killed = killed_ ? 1 : 0,
          .survivors = survivors_ ? 1 : 0});
  tell_fate();
}

void Guardian::tell_fate() const noexcept {
  if (!orphaned_ || plan_.release_hook == nullptr) return;
  say(forced_        ? plan_.release_hook->killed
      : status_ != 0 ? plan_.release_hook->failed
                     : plan_.release_hook->done);
}

/// One that has died before it was executed has started too: it ends as the signal says.
void Guardian::look_at_start() noexcept {
  int error = 0;
  const auto size = ::read(failure_, &error, sizeof error);
  if (size < 0) return;
  ::close(failure_);
  failure_ = -1;
  starting_ = false;
  if (cancelled_) return;
  if (size == 0) return report({.kind = Report::Kind::started});
  ::waitpid(group_, nullptr, 0);
  report({.kind = Report::Kind::failed, .value = error});
  tell_fate();
  ::_exit(0);
}

/// Once CMD was reaped its number may become that of a stranger's group: then those below us are
/// signalled one by one. Where there is no /proc it has to be the group, as long as somebody is
/// below us.
void Guardian::signal_group(int number) const noexcept {
  if (ended_ && (childless_ || look_for_descendants(group_, number).known)) return;
  ::kill(-group_, number);
}

/// All that may be signalled, or, once that was killed, all that may be.
bool Guardian::all_is_gone() noexcept {
  if (!ended_ && !killing_) return false;
  // Orphans come to us, so without children there is nothing below us either.
  if (ended_ && childless_) return true;
  const Nanoseconds present = now();
  if (present < look_closer_at_) return false;
  look_closer_at_ = present + look_closer;
  const Descendants descendants = look_for_descendants(group_, killing_ ? SIGKILL : 0);
  if (!descendants.known) return ended_ && ::kill(-group_, 0) != 0 && errno != EPERM;
  if (descendants.living || (descendants.foreign && !killing_)) return false;
  survivors_ = descendants.foreign;
  return ended_ || descendants.foreign;
}

Nanoseconds Guardian::wake_at() const noexcept {
  Nanoseconds at = killing_ ? forever : ending_ ? kill_at_ : lease_end();
  if (ended_ || ending_) {
    const Nanoseconds soon = now() + look_again;
    if (soon < at) at = soon;
  }
  for (const Nanoseconds moment : send_at_) {
    if (moment != 0 && moment < at) at = moment;
  }
  return at;
}

void Guardian::wait_for_news() noexcept {
  const Nanoseconds at = wake_at();
  itimerspec alarm{};
  if (at != forever) {
    const Nanoseconds moment = at > 0 ? at : 1;  // zero would turn it off
    alarm.it_value.tv_sec = static_cast<time_t>(moment / 1'000'000'000);
    alarm.it_value.tv_nsec = static_cast<long>(moment % 1'000'000'000);
  }
  ::timerfd_settime(clock_, TFD_TIMER_ABSTIME, &alarm, nullptr);
  // One that is negative is left out.
  pollfd files[] = {{clock_, POLLIN, 0},
                    {signals_, POLLIN, 0},
                    {failure_, POLLIN, 0},
                    {orphaned_ ? -1 : plan_.channel, POLLIN, 0}};
  ::poll(files, sizeof files / sizeof *files, -1);
  signalfd_siginfo signal{};
  while (::read(signals_, &signal, sizeof signal) > 0) hear(signal);
}

/// One that has come before there was a CMD says nothing about it.
void Guardian::hear(const signalfd_siginfo& signal) noexcept {
  const auto sender = static_cast<pid_t>(signal.ssi_pid);
  if (group_ <= 0 || signal.ssi_signo == SIGCHLD || signal.ssi_code != SI_USER) return;
  if (sender != 1 && sender != plan_.manager) return;
  if (send_at_[signal.ssi_signo] != 0) {
    send_at_[signal.ssi_signo] = 0;
  } else {
    heard_at_[signal.ssi_signo] = now();
  }
}

void Guardian::signal_once(int number) noexcept {
  if (number < 0 || number >= signals_known) return signal_group(number);
  const Nanoseconds present = now();
  if (heard_at_[number] != 0 && present < heard_at_[number] + explains) {
    heard_at_[number] = 0;
  } else {
    send_at_[number] = present + manager_takes;
  }
}

void Guardian::send_deferred() noexcept {
  for (int number = 0; number < signals_known; ++number) {
    if (send_at_[number] == 0 || now() < send_at_[number]) continue;
    send_at_[number] = 0;
    signal_group(number);
    if (ending_) signal_group(SIGCONT);  // one that is stopped must hear of it
  }
}

void Guardian::obey() noexcept {
  for (;;) {
    Order order;
    const auto size = ::recv(plan_.channel, &order, sizeof order, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      orphaned_ = true;
      if (plan_.release_hook == nullptr) end(plan_.kill_after.count());
      return;
    }
    switch (order.kind) {
      case Order::Kind::signal:
        if (order.by_manager != 0) {
          signal_once(order.value);
        } else {
          signal_group(order.value);
        }
        break;
      case Order::Kind::end:
        end(static_cast<Nanoseconds>(order.value) * 1'000'000,
            order.by_manager != 0 ? Term::once : Term::now);
        break;
      case Order::Kind::begin:  // it has begun
        break;
    }
  }
}

/// Also what CMD's children have left to us.
void Guardian::reap() noexcept {
  for (;;) {
    int status = 0;
    const pid_t process = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
    childless_ = process < 0 && errno == ECHILD;
    if (process <= 0) return;
    if (process != group_) continue;
    if (WIFSTOPPED(status)) {
      report({.kind = Report::Kind::stopped, .value = WSTOPSIG(status)});
    } else {
      ended_ = true;
      status_ = status;
      linger_until_ = now() + linger;
    }
  }
}

void Guardian::look_at_clock() noexcept {
  send_deferred();
  const Nanoseconds present = now();
  if (ending_ && present >= kill_at_) {
    signal_group(SIGKILL);
    if (!killing_) {
      look_closer_at_ = 0;
      killed_ = forced_ && !leftovers_;
    }
    killing_ = true;
  }
  if (present >= lease_end()) end(plan_.kill_after.count());
  if (ended_ && present >= linger_until_) {
    leftovers_ = true;
    linger_until_ = forever;
    end(plan_.kill_after.count());
  }
}

void Guardian::end(Nanoseconds kill_after, Term term) noexcept {
  if (starting_) look_at_start();
  cancelled_ = cancelled_ || starting_;
  // However late we have noticed that the lease is over, KILL comes when it is due.
  const Nanoseconds due_from = std::min(now(), lease_end());
  const Nanoseconds kill_at = later(due_from, cancelled_ ? 0 : kill_after);
  if (kill_at < kill_at_) kill_at_ = kill_at;
  if (cancelled_) signal_group(SIGKILL);
  if (ending_) return;
  ending_ = true;
  forced_ = !ended_;
  if (term == Term::once) return signal_once(SIGTERM);
  signal_group(SIGTERM);
  signal_group(SIGCONT);  // one that is stopped must hear of it
}

}  // namespace

void run_guardian(const GuardianPlan& plan) noexcept {
  Guardian guardian{plan};
  if (guardian.start()) guardian.guard();
  ::_exit(0);
}

}  // namespace simba::cli
