// simba run: a CMD under a mutex.
//
// What may happen, and what is done:
//   waiting    a signal: 128+n, CMD never runs. Time is over: 75. Store silent: 69; refuses: 77.
//   starting   Loss: CMD never runs, 76, even with --on-loss continue. Signals: as below.
//   running    CMD ends: what it left in its group is ended too, then release, its exit code.
//              Signals: to the whole group. CMD stops by job control: so do we, and go on together.
//              Loss: TERM, KILL within the margin, 76; with --on-loss continue only a warning.
//              Another process uses the same contender id: the same, but 78.
//              --max-hold is over: TERM, while the lease is renewed; 80 once CMD has ended. Still
//              there after --drain: KILL, the lease is left to run out, 79. Loss meanwhile: as
//              above.
//              simba stopped past its lease, or killed: the guardian ends the group.
//              Guardian killed: the kernel kills CMD, and we the rest of the group. Guardian
//              stopped when it should act: we kill it.
//   beginning  (--slot, --once-per) The store notes that the slot has begun; bounded. Done already:
//              0 or 81, CMD never runs. No answer: 69, CMD never runs. Signals wait: then CMD never
//              runs, nor does it if it cannot be executed, and the slot is given back: 128+n, 127.
//   ending     The store notes how the slot ended, while the mutex is still ours; bounded.
//   keeping    (--hold-at-least) A signal or a loss ends it.
//   releasing  signals wait; it is bounded by the release wait of the store.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <stop_token>
#include <string>
#include <sys/wait.h>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "cli/child/child.hpp"
#include "cli/child/lease_keeper.hpp"
#include "cli/child/output_tail.hpp"
#include "cli/child/signals.hpp"
#include "cli/child/supervised.hpp"
#include "cli/child/terminal.hpp"
#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/health/probes.hpp"
#include "cli/keyed_run.hpp"
#include "cli/nearest_boundary.hpp"
#include "cli/output/log.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/times.hpp"
#include "cli/slot_arguments.hpp"
#include "cli/store.hpp"
#include "core/threads/wakeup.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/clock.hpp"
#include "simba/core/error.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A contender for the main thread, which polls: notes what comes and wakes it.
///
/// Threads: every function may be called from any thread.
class RunContender final : public AbstractMutexContender {
 public:
  RunContender(const std::string& mutex, const std::string& id, std::shared_ptr<Logger> log,
               Probes& probes)
      : AbstractMutexContender{mutex, id, std::move(log)}, probes_{probes} {}

  struct News {
    bool acquired = false;         ///< by us, at some time
    bool answered = false;         ///< the store has told us something
    std::string owner{};           ///< who owns it, as far as we know; empty: nobody
    std::optional<Error> error{};  ///< of the last attempt, unless an answer came since
    bool duplicate_id = false;     ///< another process uses our id, so we have lost or given up
  };

  /// Readable when there may be news.
  int file() const noexcept { return wake_up_.descriptor(); }
  News news();

  /// From the acquisition until this is called nothing is given back, not even after a loss:
  /// somebody may still use what the mutex protects.
  void end_use();

  /// What to do after the end of the use, just before the mutex is released; or, where it was lost,
  /// instead.
  void before_release(std::function<void()> act);

  void wake() const noexcept { wake_up_.raise(); }

  void notify_owner(const MutexState& state) override;
  void on_event(const ContentionEvent& event) override;

 private:
  Probes& probes_;
  const detail::Wakeup wake_up_;
  std::mutex mutex_;
  std::condition_variable unused_;
  // guarded by mutex_
  News news_;
  bool in_use_ = false;
  std::function<void()> before_release_;
};

RunContender::News RunContender::news() {
  wake_up_.clear();
  const std::lock_guard lock{mutex_};
  return news_;
}

void RunContender::end_use() {
  {
    const std::lock_guard lock{mutex_};
    in_use_ = false;
  }
  unused_.notify_all();
}

void RunContender::before_release(std::function<void()> act) {
  const std::lock_guard lock{mutex_};
  before_release_ = std::move(act);
}

void RunContender::notify_owner(const MutexState& state) {
  probes_.answered(state.after().owner_id());
  std::unique_lock lock{mutex_};
  news_.answered = true;
  news_.error.reset();
  news_.owner = state.after().owner_id();
  if (state.is_acquired(contender_id())) news_.acquired = in_use_ = true;
  wake_up_.raise();
  if (!state.is_released(contender_id())) return;
  unused_.wait(lock, [this] { return !in_use_; });
  const auto act = std::exchange(before_release_, nullptr);
  lock.unlock();
  if (act) act();
}

void RunContender::on_event(const ContentionEvent& event) {
  const auto* failed = std::get_if<AcquireFailed>(&event);
  const auto* lost = std::get_if<OwnershipLost>(&event);
  {
    const std::lock_guard lock{mutex_};
    if (failed != nullptr) {
      news_.error = failed->error;
      if (failed->namesake) {
        news_.answered = true;
        news_.owner = contender_id();
      }
      if (failed->error.kind() == ErrorKind::duplicate_id) news_.duplicate_id = true;
    }
    if (lost != nullptr && lost->reason == LossReason::duplicate_id) news_.duplicate_id = true;
  }
  wake_up_.raise();
}

/// How long to wait for a mutex.
struct WaitLimits {
  std::optional<std::chrono::milliseconds> timeout{};  ///< zero: ask once; empty: none

  /// How long to try a store that has never answered if there is no timeout.
  std::chrono::milliseconds silence{5'000};
};

constexpr nanoseconds quiet = 1s;

/// Says that we wait, and for whom: once, again when that changes, and on a terminal each second.
class WaitNotes {
 public:
  WaitNotes(const RunContender& contender, Output& output)
      : contender_{contender}, output_{output}, next_{quiet} {}
  ~WaitNotes() { output_.end_passing_note(); }
  WaitNotes(const WaitNotes&) = delete;
  WaitNotes& operator=(const WaitNotes&) = delete;

  /// When `tell` has something to do again, counted from the beginning.
  nanoseconds next() const noexcept { return next_; }

  void tell(const RunContender::News& news, nanoseconds waited) {
    if (waited < quiet) return;
    const std::string reason = reason_of(news);
    // The text of an error may differ each time, as in "for 747 ms".
    const std::string topic =
        news.error ? fmt::to_string(static_cast<int>(news.error->kind())) : reason;
    const bool changed = topic != told_;
    if (!changed && waited < next_) return;
    while (next_ <= waited) next_ += quiet;
    if (!changed && !output_.live_notes()) return;
    told_ = topic;
    told_error_ = news.error && !output_.live_notes();
    Json object{{"event", "waiting"},
                {"mutex", contender_.mutex()},
                {"contender_id", contender_.contender_id()},
                {"owner", news.owner},
                {"waited_ms", std::chrono::duration_cast<milliseconds>(waited).count()}};
    if (news.error) object["error"] = news.error->what();
    const std::string time = output_.live_notes() ? ", " + to_text(waited) : "";
    output_.passing_note(
        fmt::format("waiting for mutex \"{}\"{}{}", printable(contender_.mutex()), reason, time),
        object);
  }

  /// Whether what stands on the screen last is why we wait: the error of the store.
  bool told_error() const noexcept { return told_error_; }

 private:
  static std::string reason_of(const RunContender::News& news) {
    if (news.error) return fmt::format(": {}", news.error->what());
    if (!news.owner.empty()) return fmt::format(", owned by {}", printable(news.owner));
    return news.answered ? "" : ": no answer from the store yet";
  }

  const RunContender& contender_;
  Output& output_;
  nanoseconds next_;
  std::string told_{"?"};
  bool told_error_ = false;
};

Failure not_acquired(const RunContender& contender, const RunContender::News& news,
                     const WaitNotes& notes, milliseconds limit) {
  std::string text = fmt::format("mutex \"{}\" not acquired", printable(contender.mutex()));
  if (limit > 0ms) text += fmt::format(" within {}", to_text(limit));
  if (!news.owner.empty()) text += fmt::format("; owned by {}", printable(news.owner));
  const bool namesake = news.error && news.owner == contender.contender_id();
  if (namesake && !notes.told_error()) text += fmt::format(": {}", news.error->what());
  return Failure{ExitCode::not_acquired, text};
}

/// The error of the store, or, where that was told already, only that it has not passed.
Failure store_failure(const RunContender& contender, const Error& error, const WaitNotes& notes,
                      nanoseconds waited) {
  if (!notes.told_error()) return to_failure(error);
  return Failure{exit_code_of(error.kind()),
                 fmt::format("gave up waiting for mutex \"{}\" after {}: no answer from the store",
                             printable(contender.mutex()), to_text(waited))};
}

/// Throws where it is time to give up.
void check(const RunContender& contender, const RunContender::News& news, const WaitLimits& limits,
           const WaitNotes& notes, nanoseconds waited) {
  if (news.error && !news.error->is_transient()) throw to_failure(*news.error);
  if (const auto why = deadlock_with(contender.mutex(), news.owner)) {
    throw Failure{ExitCode::usage, *why};
  }
  if (!limits.timeout) {
    if (news.error && !news.answered && waited >= limits.silence) {
      throw store_failure(contender, *news.error, notes, waited);
    }
    return;
  }
  const bool asked_once = *limits.timeout == 0ms && (news.error || !news.owner.empty());
  if (!asked_once && (*limits.timeout == 0ms || waited < *limits.timeout)) return;
  if (news.error && news.owner.empty()) {
    throw store_failure(contender, *news.error, notes, waited);
  }
  if (!news.answered) {
    throw Failure{ExitCode::unavailable,
                  fmt::format("no answer from the store within {}", to_text(*limits.timeout))};
  }
  throw not_acquired(contender, news, notes, *limits.timeout);
}

/// The exit code if a signal that ends programs has come.
std::optional<int> told_to_end(Signals& signals) {
  while (const int signal = signals.next()) {
    if (is_ending(signal)) return exit_code_of_signal(signal);
    if (signal == SIGTSTP) ::raise(SIGSTOP);
  }
  return std::nullopt;
}

/// Waits until the contender, whose service runs, owns its mutex. A wait of over a second is told,
/// with the owner.
///
/// Returns nothing once it is owned; the exit code when a signal came first, or when `keyed`, which
/// may be null, runs elsewhere. Throws Failure: 75 when the time is over, 69 when the store has
/// given no answer, and what fits for an error that waiting does not cure.
std::optional<int> wait_for_mutex(RunContender& contender, Signals& signals,
                                  const WaitLimits& limits, KeyedRun* keyed, Output& output) {
  const auto clock = make_system_clock();
  const LocalTime begun = clock->now();
  WaitNotes notes{contender, output};
  for (;;) {
    const auto news = contender.news();
    if (news.acquired) return std::nullopt;
    if (const auto code = told_to_end(signals)) return code;
    const nanoseconds waited = clock->now() - begun;
    if (keyed != nullptr && keyed->runs_elsewhere(news.owner)) return to_int(ExitCode::success);
    if (!news.error || news.error->is_transient()) notes.tell(news, waited);
    check(contender, news, limits, notes, waited);

    nanoseconds wake_at = notes.next();
    if (limits.timeout && *limits.timeout > 0ms) wake_at = std::min(wake_at, {*limits.timeout});
    const auto left = std::chrono::ceil<milliseconds>(wake_at - waited).count();
    std::array<pollfd, 2> files{{{contender.file(), POLLIN, 0}, {signals.file(), POLLIN, 0}}};
    ::poll(files.data(), files.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
  }
}

enum class OnLoss { terminate, proceed };

/// How long CMD may keep the mutex.
struct Hold {
  std::optional<milliseconds> limit{};  ///< empty: as long as it runs
  milliseconds drain{};                 ///< how much longer while it ends
  milliseconds at_least{};              ///< from its start, even if it ends sooner
};

/// Keeps the mutex after CMD has ended, until then, a loss, or a signal that ends programs.
void keep_until(LocalTime until, std::string_view option, RunContender& contender,
                const MutexContendService& service, Signals& signals, Output& output) {
  const auto clock = make_system_clock();
  const std::stop_callback wake{service.lost(), [&] { contender.wake(); }};
  const nanoseconds first = until - clock->now();
  if (first > quiet && output.live_notes()) {
    output.passing_note(fmt::format("CMD has ended; keeping mutex \"{}\" for {} more ({})",
                                    printable(contender.mutex()), to_text(first), option),
                        {});
  }
  for (;;) {
    contender.news();
    if (told_to_end(signals)) return output.end_passing_note();
    const nanoseconds left = until - clock->now();
    if (left <= 0ns || !service.is_owner()) return output.end_passing_note();
    std::array<pollfd, 2> files{{{contender.file(), POLLIN, 0}, {signals.file(), POLLIN, 0}}};
    const auto pause = std::min<nanoseconds>(left, 1h);
    ::poll(files.data(), files.size(),
           static_cast<int>(std::chrono::ceil<milliseconds>(pause).count()));
  }
}

/// CMD from its start to its end, on the main thread.
class Run {
 public:
  Run(const Invocation& invocation, RunContender& contender, MutexContendService& service,
      Signals& signals, const Store& store, OnLoss on_loss, const Hold& hold, const KeyedRun* keyed,
      Withheld& withheld, Probes& probes, Output& output)
      : contender_{contender},
        service_{service},
        signals_{signals},
        kill_after_{kill_after(store.plan())},
        on_loss_{on_loss},
        hold_{hold},
        hold_until_{hold.limit ? make_system_clock()->now() + *hold.limit : never},
        withheld_{withheld},
        probes_{probes},
        output_{output},
        keeper_{service},
        lost_{service.lost()},
        tail_{keyed != nullptr && keyed->keeps_output() ? std::make_unique<OutputTail>() : nullptr},
        child_{program(invocation, store.passwords(), keyed), permitted_until(), kill_after_} {}

  ~Run() { terminal_.take_back(child_.group()); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Returns the exit code. Nothing of CMD is left then. Throws Failure where it cannot be run.
  int until_end() {
    const std::stop_callback wake{lost_, [this] { contender_.wake(); }};
    std::optional<Child::Event> end;
    for (;;) {
      const LocalTime lease_end = permitted_until();
      child_.extend(lease_end);
      std::array<pollfd, 3> files{{{child_.file(), POLLIN, 0},
                                   {signals_.file(), POLLIN, 0},
                                   {contender_.file(), POLLIN, 0}}};
      const auto pause = ending_ || overdue_ || held_back_
                             ? look_at_end
                             : until_next_look(std::min(lease_end, next_look_at_hold()));
      ::poll(files.data(), files.size(), static_cast<int>(pause.count()));
      contender_.news();
      while (const int signal = signals_.next()) {
        const bool by_manager = signals_.from_manager();
        if (signal == SIGCONT && ending_) continue;
        const auto sender = by_manager ? Child::Sender::manager : Child::Sender::anyone;
        if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) {
          if (hold_back(signal, sender)) continue;
          told_to_end_ = true;
        }
        child_.signal(signal, sender);
      }
      for (;;) {
        const auto event = next_event();
        if (!event) break;
        switch (event->kind) {
          case Child::Event::Kind::started:
            started();
            break;
          case Child::Event::Kind::stopped:
            stopped(event->value);
            break;
          case Child::Event::Kind::ended:
            end = *event;
            break;
        }
      }
      if (end) break;
      look_for_loss();
      look_at_hold();
      pass_on();
    }
    return finish(*end);
  }

  /// For the history; empty where the mutex was lost, so that nothing can be noted.
  const std::optional<RunEnd>& end() const noexcept { return end_; }

  /// Until when to keep the mutex although CMD has ended, for load balancers that have not noticed.
  LocalTime drained_at() const { return hurries_ ? LocalTime{} : probes_.drained_at(); }

  /// Until when to keep it for --hold-at-least.
  LocalTime hold_at_least_until() const noexcept {
    return end_ && !told_to_end_ && !overdue_ ? started_at_ + hold_.at_least : LocalTime{};
  }

 private:
  Program program(const Invocation& invocation, const Passwords& passwords,
                  const KeyedRun* keyed) const {
    auto variables = variables_of(service_);
    if (keyed != nullptr) {
      for (auto& variable : keyed->variables()) variables.push_back(std::move(variable));
    }
    return {.words = invocation.words,
            .variables = std::move(variables),
            .passwords = passwords,
            .input = Program::Input::ours,
            .output = tail_ ? tail_->output() : -1,
            .errors = tail_ ? tail_->errors() : -1,
            .terminal = terminal_.to_hand_over(),
            .mask = signals_.original_mask(),
            .ignores_pipe = invocation.ignores_pipe,
            .manager = signals_.manager(),
            .passed_on = invocation.passed_on};
  }

  /// A CMD that does not run yet may not begin without the mutex.
  LocalTime permitted_until() {
    return on_loss_ == OnLoss::terminate || !started_ ? keeper_.lease_end() : never;
  }

  Json described(std::string_view event) const {
    return {{"event", event},
            {"mutex", contender_.mutex()},
            {"contender_id", contender_.contender_id()},
            {"fencing_token", service_.fencing_token()}};
  }

  bool is_lost() const noexcept { return lost_.stop_requested() || !service_.is_owner(); }

  void look_for_loss() {
    if (told_loss_ || !is_lost()) return;
    told_loss_ = true;
    ending_ = on_loss_ == OnLoss::terminate || !started_;
    if (!ending_) probes_.follows();
    if (ending_) child_.end(kill_after_);
    if (!started_) return;  // the failure tells it
    tell_loss(ending_ ? "terminating CMD" : "CMD keeps running without it");
  }

  /// Whether CMD goes on for --drain-probes before it gets the signal. Another does not wait.
  bool hold_back(int signal, Child::Sender sender) {
    const bool first = !std::exchange(told_to_end_, true);
    probes_.ends();
    probes_.drains();
    held_back_.reset();
    if (!first) hurries_ = true;
    if (!first || ending_ || make_system_clock()->now() >= probes_.drained_at()) return false;
    held_back_ = {signal, sender};
    return true;
  }

  void pass_on() {
    if (!held_back_ || (make_system_clock()->now() < probes_.drained_at() && !ending_)) return;
    child_.signal(held_back_->first, held_back_->second);
    held_back_.reset();
  }

  LocalTime next_look_at_hold() const {
    const LocalTime drains_from = hold_until_ - probes_.drain();
    return make_system_clock()->now() < drains_from ? drains_from : hold_until_;
  }

  void look_at_hold() {
    if (!hold_.limit || overdue_ || ending_) return;
    if (make_system_clock()->now() >= hold_until_ - probes_.drain()) probes_.drains();
    if (make_system_clock()->now() < hold_until_) return;
    const auto limit = *hold_.limit;
    overdue_ = true;
    child_.end(hold_.drain);
    auto object = described("max_hold");
    object["max_hold_ms"] = limit.count();
    object["drain_ms"] = hold_.drain.count();
    output_.note(fmt::format("mutex \"{}\" held for {} (--max-hold); terminating CMD, which has {} "
                             "to end; raise --max-hold if it needs longer",
                             printable(contender_.mutex()), to_text(limit), to_text(hold_.drain)),
                 object);
  }

  /// One that is to end before it has begun does not run.
  std::optional<Child::Event> next_event() {
    try {
      return child_.next();
    } catch (const Failure& e) {
      if (!overdue_ || is_lost() || e.code() != ExitCode::lost) throw;
      throw Failure{ExitCode::held_too_long, "CMD was terminated while starting"};
    }
  }

  void tell_loss(std::string_view consequence) {
    output_.note(fmt::format("mutex \"{}\" lost; {}", printable(contender_.mutex()), consequence),
                 described("lost"));
  }

  void started() {
    started_ = true;
    started_at_ = make_system_clock()->now();
    probes_.leads();
    child_.extend(permitted_until());
    output_.event(described("started"));
    if (ending_) tell_loss("terminating CMD");  // it has begun just before
  }

  /// Job control. A SIGSTOP, or whatever stops it where there is no terminal, is meant for CMD
  /// alone.
  void stopped(int signal) {
    if (signal == SIGSTOP || !terminal_.exists()) return;
    if ((signal == SIGTTIN || signal == SIGTTOU) && !ending_ && terminal_.give(child_.group())) {
      child_.signal(SIGCONT);
      return;
    }
    terminal_.take_back(child_.group());
    ::kill(0, SIGSTOP);  // a script or a make that we are part of waits for the same
    // Perhaps much later. One that must not go on does not.
    look_for_loss();
    if (ending_) return;
    terminal_.give(child_.group());  // the SIGCONT that we have got is handed on
  }

  int finish(const Child::Event& end) {
    probes_.drains();
    const std::string tail = tail_ ? tail_->finish() : "";
    terminal_.take_back(child_.group());
    const int code = exit_code_of_status(end.value);
    if (code > exit_code_of_signal(0)) terminal_.restore_modes();
    if (end.leftovers && !end.survivors) {
      output_.note("CMD left processes running in its group; they were terminated",
                   described("leftovers_ended"));
    }
    if (end.unguarded && !end.overdue && !ending_) {
      output_.note("the guardian process was killed, so CMD was terminated",
                   described("unguarded"));
    }
    if (end.survivors) {
      output_.note("CMD has processes that belong to another user and could not be terminated",
                   described("survivors"));
    }
    const bool expired = end.forced && !overdue_;
    bool lost = ending_ || expired;
    if (ending_ && !started_) tell_loss("CMD was terminated while starting");
    if (!told_loss_ && (expired || is_lost())) {  // the guardian may have known first
      tell_loss(expired ? "terminating CMD" : "CMD has ended");
      lost = lost || on_loss_ == OnLoss::terminate;
    }
    auto object = described("ended");
    object["exit_code"] = code;
    output_.event(object);
    if (!lost && !is_lost()) {
      end_ = described_end(end, code);
      if (end_->outcome != RunOutcome::succeeded) end_->output = tail;
    }
    if (lost) return to_int(ExitCode::lost);
    return overdue_ && end.forced ? finish_overdue(end) : code;
  }

  RunEnd described_end(const Child::Event& end, int code) const {
    if (overdue_) {
      return {.outcome = RunOutcome::failed,
              .exit_code = code,
              .message = fmt::format("terminated after {} (--max-hold)",
                                     to_text(hold_.limit.value_or(0ms)))};
    }
    if (told_to_end_) {
      return {.outcome = RunOutcome::cancelled, .exit_code = code, .message = "told to end"};
    }
    if (code == 0) return {.exit_code = code};
    return {.outcome = RunOutcome::failed,
            .exit_code = code,
            .message = WIFSIGNALED(end.value)
                           ? fmt::format("ended by signal {}", WTERMSIG(end.value))
                           : fmt::format("exited with code {}", code)};
  }

  int finish_overdue(const Child::Event& end) {
    if (!end.killed && !end.survivors) return to_int(ExitCode::held_too_long);
    std::string reason = end.survivors
                             ? "processes of CMD that belong to another user are still running"
                         : end.unguarded && !end.overdue
                             ? "CMD was killed because its guardian process was killed"
                             : fmt::format("CMD had not ended {} after SIGTERM and was killed",
                                           to_text(hold_.drain));
    contender_.before_release(
        [this_service = &service_, withheld = &withheld_, output = &output_,
         reason = std::move(reason)] { withheld->keep(*this_service, reason, *output); });
    return to_int(ExitCode::not_released);
  }

  RunContender& contender_;
  MutexContendService& service_;
  Signals& signals_;
  const std::chrono::milliseconds kill_after_;
  const OnLoss on_loss_;
  const Hold hold_;
  const LocalTime hold_until_;
  Withheld& withheld_;
  Probes& probes_;
  Output& output_;
  LeaseKeeper keeper_;
  const std::stop_token lost_;
  bool started_ = false;
  bool told_loss_ = false;
  bool ending_ = false;       // because of a loss
  bool overdue_ = false;      // it has been held for too long, so CMD was told to end
  bool told_to_end_ = false;  // by a signal
  bool hurries_ = false;      // there was another
  // That signal, until load balancers have noticed.
  std::optional<std::pair<int, Child::Sender>> held_back_{};
  LocalTime started_at_{};
  std::optional<RunEnd> end_{};
  const std::unique_ptr<OutputTail> tail_;
  Terminal terminal_;
  Child child_;
};

class RunCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* run = app.add_subcommand("run", "Run CMD while holding the mutex: -m NAME -- CMD...");
    run->add_option(
           "--timeout", timeout_,
           "Give up with exit code 75 after this time; 0: try once (default: wait forever)")
        ->type_name("TIME");
    run->add_option("--on-loss", on_loss_,
                    "What to do if the mutex is lost: terminate CMD with all its processes and "
                    "exit with 76 (default), or let CMD continue")
        ->type_name("terminate|continue")
        ->check(CLI::IsMember({"terminate", "continue"}));
    auto* max_hold =
        run->add_option("--max-hold", max_hold_,
                        "Terminate CMD if it runs longer, release the mutex once it has ended, and "
                        "exit with 80 (default: no limit)")
            ->type_name("TIME");
    run->add_option("--drain", drain_,
                    "How long to keep the mutex while CMD ends after --max-hold (default: 90s)")
        ->type_name("TIME")
        ->needs(max_hold);
    run->add_option("--hold-at-least", hold_at_least_,
                    "Keep the mutex this long from the start of CMD, even if CMD ends sooner, so "
                    "that hosts that start a little later find it taken (default: 0)")
        ->type_name("TIME");
    auto* const slot =
        run->add_option("--slot", slot_,
                        "Run CMD once for this key, whichever host comes first: the others exit "
                        "with 0 and a note")
            ->type_name("KEY");
    auto* const once_per =
        run->add_option(
               "--once-per", once_per_,
               "Like --slot, with the nearest boundary of this period as the key: 24h is the "
               "nearest midnight in --zone")
            ->type_name("TIME")
            ->excludes(slot);
    run->add_option("--zone", zone_,
                    "Time zone of --once-per, such as Europe/Berlin (default: UTC)")
        ->type_name("ZONE")
        ->needs(once_per);
    run->add_option("--if-running", if_running_,
                    "If another host runs the same key now: wait and see how it ends (default), or "
                    "exit with 0 at once, which leaves nobody to repeat the run if that host dies, "
                    "even with --promise at-least-once")
        ->type_name("wait|exit")
        ->check(CLI::IsMember({"wait", "exit"}));
    promise_.add_to(*run);
    probes_.add_to(*run);
    run->add_flag("--keep-output", keep_output_,
                  "If CMD does not end well, keep the last 2,000 bytes of its output and errors in "
                  "the history, for \"simba runs --json\"; they pass through simba then, so CMD "
                  "does not see a terminal");
    run->footer(
        R"help(Waits for the mutex, runs CMD in its own process group, releases the mutex once the whole group
has ended, and exits with CMD's exit code. Signals are passed on to the group. If the mutex is
lost or simba is killed, CMD is terminated before anyone else can own the mutex (exceptions: see
simba(1), NOTES). After --max-hold CMD gets SIGTERM, and SIGKILL after --drain; if it had to be
killed, the mutex is not released: simba waits until the lease has expired, and exits with 79.
CMD's environment has SIMBA_MUTEX, SIMBA_CONTENDER_ID and SIMBA_FENCING_TOKEN.

With --slot or --once-per the store remembers the last 100 keys of a mutex and how they ended:
"simba runs" shows that. If the run of a key did not end well, because CMD failed, was told to end,
or died with its host, the next simba with that key exits with 81; with --promise at-least-once it
runs CMD again, up to --max-attempts. CMD also has SIMBA_SLOT, SIMBA_RUN_NUMBER and SIMBA_ATTEMPT.
--once-per takes minutes that divide an hour, hours that divide a day, or whole days (weeks begin on
Monday). Hosts agree if they start within half a period of the boundary.
The output of --json goes to standard error: standard output is CMD's.

Examples:
  simba run -b postgresql://app@db/app -m nightly -- pg_dump -f dump.sql app
  simba run -b redis://10.0.0.5 -m nightly --timeout 0 -- ./job   # exit code 75: it runs elsewhere
  simba run -b redis://10.0.0.5 -m deploy --timeout 30s -- sh -c './build && ./deploy'
  simba run -b redis://10.0.0.5 -m nightly --once-per 24h --zone Europe/Berlin -- ./backup
  simba run -b redis://10.0.0.5 -m nightly --slot "$(date +%F)" -- ./backup
)help");
    return run;
  }

  bool takes_words() const noexcept override { return true; }
  int run(const Invocation& invocation, Output& output) override {
    const std::string& mutex = invocation.options.need_mutex();
    if (invocation.words.empty()) {
      throw UsageError{"missing CMD; put it after \"--\": simba run -m " + mutex + " -- CMD"};
    }
    WaitLimits limits;
    if (timeout_) limits.timeout = parse_duration(*timeout_, "--timeout");
    const Hold hold = how_long_to_hold();
    const auto keyed_options = what_to_run_once();
    Probes probes{probes_};  // before any thread
    check_drain(probes, hold.limit);

    Signals signals{Signals::Orphans::reaped};  // before any thread
    const Store store{invocation.options, output};
    std::optional<KeyedRun> keyed;
    if (keyed_options) {
      keyed.emplace(mutex, *keyed_options, store.schedule_records(), store.schedule_records(1s),
                    output);
    }
    RunContender contender{mutex, invocation.options.contender_id(), store.log(), probes};
    probes.open(mutex, contender.contender_id(), store.factory().runtime(), output);
    const auto service = store.factory().create_mutex_contend_service(
        contender, {.after_loss = AfterLoss::stay_out});
    service->start();
    probes.contends();
    Withheld withheld{store.plan()};
    const int code = run_under(invocation, contender, *service, signals, limits, store, hold,
                               keyed ? &*keyed : nullptr, withheld, probes, output);
    withheld.wait();
    if (!contender.news().duplicate_id) return code;
    const auto failure = to_failure(duplicate_id_error(contender.contender_id()));
    if (code == to_int(ExitCode::lost)) throw Failure{failure};
    output.note(failure.what(), {{"event", "duplicate_id"},
                                 {"mutex", contender.mutex()},
                                 {"contender_id", contender.contender_id()}});
    return code;
  }

 private:
  int run_under(const Invocation& invocation, RunContender& contender, MutexContendService& service,
                Signals& signals, const WaitLimits& limits, const Store& store, const Hold& hold,
                KeyedRun* keyed, Withheld& withheld, Probes& probes, Output& output) const {
    // Whatever happens: first the end of the use, then the release.
    struct Closing {
      RunContender& contender;
      MutexContendService& service;
      Probes& probes;
      ~Closing() {
        probes.ends();
        probes.follows();
        contender.end_use();
        service.close();
      }
    } const closing{contender, service, probes};
    if (const auto code = wait_for_mutex(contender, signals, limits, keyed, output)) return *code;
    if (keyed != nullptr) {
      if (const auto code = keyed->begin(service)) return *code;
      if (const auto code = told_to_end(signals)) {
        keyed->give_back();
        return *code;
      }
    }
    const auto on_loss = on_loss_ == "continue" ? OnLoss::proceed : OnLoss::terminate;
    int code = 0;
    LocalTime hold_until{};
    LocalTime drained_at{};
    try {
      Run run{invocation, contender, service,  signals, store, on_loss,
              hold,       keyed,     withheld, probes,  output};
      code = run.until_end();
      if (const auto& end = run.end(); keyed != nullptr && end) keyed->end(*end);
      hold_until = run.hold_at_least_until();
      drained_at = run.drained_at();
    } catch (const Failure&) {  // CMD was not executed
      if (keyed != nullptr && service.is_owner()) keyed->give_back();
      throw;
    }
    if (code != to_int(ExitCode::not_released)) {
      keep_until(std::max(hold_until, drained_at),
                 drained_at > hold_until ? "--drain-probes" : "--hold-at-least", contender, service,
                 signals, output);
    }
    return code;
  }

  std::optional<KeyedRunOptions> what_to_run_once() const {
    if (!slot_ && !once_per_) {
      if (if_running_) throw UsageError{"--if-running requires --slot or --once-per"};
      if (keep_output_) throw UsageError{"--keep-output requires --slot or --once-per"};
      if (!promise_.given().empty()) {
        throw UsageError{fmt::format("{} requires --slot or --once-per", promise_.given())};
      }
      return std::nullopt;
    }
    KeyedRunOptions options{.exits_if_running = if_running_ == "exit",
                            .keeps_output = keep_output_};
    promise_.apply_to(options.slots);
    options.key =
        slot_ ? *slot_
              : nearest_boundary(
                    parse_duration(*once_per_, "--once-per"), zone_,
                    std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
    try {
      options.slots.check();
      ScheduleRecords::check_key(options.key);
    } catch (const InvalidArgumentError& e) {
      throw UsageError{e.what()};
    }
    return options;
  }

  Hold how_long_to_hold() const {
    Hold hold{.drain = parse_duration(drain_, "--drain"),
              .at_least = parse_duration(hold_at_least_, "--hold-at-least")};
    if (!max_hold_) return hold;
    if (on_loss_ == "continue") {
      throw UsageError{"--max-hold terminates CMD, so it excludes --on-loss continue"};
    }
    hold.limit = parse_max_hold(*max_hold_);
    if (hold.at_least > *hold.limit) {
      throw UsageError{"--hold-at-least must not be longer than --max-hold"};
    }
    return hold;
  }

  ProbeArguments probes_;
  std::optional<std::string> timeout_;
  std::optional<std::string> max_hold_;
  std::string drain_{default_drain};
  std::string on_loss_ = "terminate";
  std::string hold_at_least_ = "0";
  std::optional<std::string> slot_;
  std::optional<std::string> once_per_;
  std::string zone_ = "UTC";
  std::optional<std::string> if_running_;
  PromiseArguments promise_;
  bool keep_output_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace simba::cli
