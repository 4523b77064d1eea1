// simba schedule: runs CMD periodically, on the leader only.
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/child/descendants.hpp"
#include "cli/child/lease_keeper.hpp"
#include "cli/child/signals.hpp"
#include "cli/child/supervised.hpp"
#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/long_running.hpp"
#include "cli/output/times.hpp"
#include "cli/store.hpp"
#include "simba/schedule/scheduler.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;

/// Runs CMD for the scheduler, and says what came of it.
class Worker {
 public:
  Worker(const Invocation& invocation, const Signals& signals, const Store& store,
         std::chrono::milliseconds drain, Output& output)
      : invocation_{invocation},
        passwords_{store.passwords()},
        mask_{signals.original_mask()},
        manager_{signals.manager()},
        kill_after_{kill_after(store.plan())},
        drain_{drain},
        withheld_{store.plan()},
        output_{output} {}

  /// The end of the command begins: CMD gets time to tidy up.
  void leave(Child::Sender sender) noexcept {
    sender_ = sender;
    leaving_ = true;
  }

  void work(const MutexContendService& service, const std::stop_token& stop) {
    LeaseKeeper keeper{service};
    Json object{{"event", "run"},
                {"mutex", service.contender().mutex()},
                {"contender_id", service.contender_id()},
                {"fencing_token", service.fencing_token()}};
    bool drains = false;
    try {
      const auto end = run_supervised({.words = invocation_.words,
                                       .variables = variables_of(service),
                                       .passwords = passwords_,
                                       .input = Program::Input::none,
                                       .mask = mask_,
                                       .ignores_pipe = invocation_.ignores_pipe,
                                       .manager = manager_,
                                       .passed_on = invocation_.passed_on},
                                      {.lease_end = [&] { return keeper.lease_end(); },
                                       .kill_after = kill_after_,
                                       .stop = stop,
                                       .grace =
                                           [&] {
                                             drains = leaving_;
                                             return drains ? drain_ : kill_after_;
                                           },
                                       .sender = [this] { return sender_.load(); }});
      if (drains && end.child.killed && !end.child.survivors) {
        killed_ =
            service.lease_left() == 0s ? "its lease expired before CMD, which was killed, had ended"
            : end.child.unguarded && !end.child.overdue
                ? "CMD " + problem_of(end)
                : fmt::format("CMD had not ended {} after SIGTERM and was killed", to_text(drain_));
      }
      if (end.child.survivors) survivors_ = true;
      tell(end, std::move(object));
    } catch (const Failure& e) {
      object["exit_code"] = to_int(e.code());
      object["message"] = e.what();
      if (leaving_ && e.code() == ExitCode::lost) {  // it was told to end before CMD ran
        output_.event(object);
      } else {
        output_.note(e.what(), object);
      }
    }
  }

  /// Hears of every change of the owner, when CMD does not run.
  void changed(MutexContendService& service, const MutexState& state) {
    if (state.is_acquired(service.contender_id())) leads_by_ = &service;
    if (!state.is_released(service.contender_id())) return;
    if (leaving_ && has_survivors()) {
      withheld_.keep(service, "processes of CMD that belong to another user are still running",
                     output_);
    } else if (leaving_ && !killed_.empty()) {
      withheld_.keep(service, killed_, output_);
    }
    leads_by_ = nullptr;
  }

  /// Not null from an acquisition until CMD has ended and the release begins.
  MutexContendService* leads_by() const noexcept { return leads_by_; }

  Withheld& withheld() noexcept { return withheld_; }

 private:
  /// They have become our children when their guardian has ended.
  bool has_survivors() const noexcept {
    if (!survivors_) return false;
    const Descendants descendants = look_for_descendants(-1, 0);
    return descendants.foreign || !descendants.known;
  }

  void tell(const SupervisedEnd& finished, Json object) {
    const Child::Event& end = finished.child;
    const int code = exit_code_of_status(end.value);
    object["exit_code"] = code;
    object["ended"] = end.forced;
    object["killed"] = end.killed;
    object["leftovers_ended"] = end.leftovers;
    // While we leave, CMD is told to end: how it takes that is expected.
    const bool usual = !end.survivors && !finished.wants_terminal;
    const std::string problem = problem_of(finished);
    if (problem.empty() || (leaving_ && usual)) {
      output_.event(object);
    } else {
      output_.note(end.forced && usual ? "mutex lost; CMD was terminated" : "CMD " + problem,
                   object);
    }
  }

  const Invocation& invocation_;
  const Passwords passwords_;
  const sigset_t mask_;
  const pid_t manager_;
  const std::chrono::milliseconds kill_after_;
  const std::chrono::milliseconds drain_;
  Withheld withheld_;
  Output& output_;
  // used by one run or callback at a time
  std::string killed_;      // why CMD was killed while we were leaving; empty: it was not
  bool survivors_ = false;  // a run has left processes of another user, which may have ended since
  std::atomic<MutexContendService*> leads_by_{nullptr};
  std::atomic<bool> leaving_{false};
  std::atomic<Child::Sender> sender_{Child::Sender::anyone};
};

class ScheduleCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* schedule =
        app.add_subcommand("schedule", "Run CMD periodically, on one instance at a time");
    auto* const every =
        schedule->add_option("--every", every_, "Time from the end of CMD to its next start")
            ->type_name("TIME");
    schedule
        ->add_flag("--rate", rate_,
                   "Measure --every from start to start; if CMD takes longer, the starts it misses "
                   "are skipped")
        ->needs(every);
    schedule
        ->add_option("--initial-delay", initial_delay_,
                     "Time from becoming leader to the first start (default: 0)")
        ->type_name("TIME")
        ->needs(every);
    auto* const cron =
        schedule
            ->add_option(
                "--cron", cron_,
                "When to start CMD, as in crontab(5): \"0 3 * * *\" is every day at 3:00. "
                "Starts that fall due while CMD still runs, or while nobody leads, are skipped")
            ->type_name("FIELDS")
            ->excludes(every);
    schedule
        ->add_option("--zone", zone_, "Time zone of --cron, such as Europe/Berlin (default: UTC)")
        ->type_name("ZONE")
        ->needs(cron);
    schedule
        ->add_flag("--dry-run", dry_run_,
                   "Print the next ten start times of --cron, and run nothing")
        ->needs(cron);
    schedule
        ->add_option("--drain", drain_,
                     "How long to keep the mutex while CMD ends after simba is told to stop "
                     "(default: 90s)")
        ->type_name("TIME");
    schedule->footer(
        R"(Start it on as many hosts as you like: the one that owns the mutex runs CMD, and if that host
fails, another takes over. Failures of CMD are reported, and the schedule continues. If the mutex is
lost, CMD is terminated before anyone else can own it. SIGINT and SIGTERM stop CMD, then simba, with
exit code 0: CMD gets SIGTERM, and SIGKILL after --drain. The mutex is kept until CMD has ended. If
CMD had to be killed, or has processes of another user, which cannot be killed, the mutex is not
released: simba waits until the lease has expired, and exits with 79.

Examples:
  simba schedule -b redis://10.0.0.5 -m cleanup --every 30s -- ./sweep --all
  simba schedule -b redis://10.0.0.5 -m report --every 1h --rate -- ./report
  simba schedule -b redis://10.0.0.5 -m nightly --cron '0 3 * * *' --zone Europe/Berlin -- ./backup
  simba schedule --cron '0 3 * * mon-fri' --zone Europe/Berlin --dry-run
)");
    return schedule;
  }

  bool takes_words() const noexcept override { return true; }
  int run(const Invocation& invocation, Output& output) override {
    if (dry_run_) return print_starts(output);
    const std::string& mutex = invocation.options.need_mutex();
    if (invocation.words.empty()) {
      throw UsageError{"missing CMD; put it after \"--\": simba schedule -m " + mutex +
                       " --every TIME -- CMD"};
    }
    const ScheduleConfig config = schedule_config();
    const auto drain = parse_duration(drain_, "--drain");

    Signals signals{Signals::Orphans::reaped};  // before any thread
    const Store store{invocation.options, output, Store::LogLevelWithoutVerbose::warnings,
                      drain + time_to_kill};
    LongRunning life;
    Worker worker{invocation, signals, store, drain, output};
    const Scheduler* self = nullptr;
    Scheduler scheduler{
        mutex,
        store.factory(),
        config,
        [&](const std::stop_token& stop) { worker.work(self->contend_service(), stop); },
        {.contender_id = invocation.options.contender_id(),
         .on_state =
             [&](MutexContendService& service, const MutexState& state) {
               life.answered(service.contender(), state);
               tell(output, service.contender(), state);
               worker.changed(service, state);
             },
         .on_event = [&](MutexContendService& service,
                         const ContentionEvent& event) { life.note(service.contender(), event); }}};
    self = &scheduler;
    scheduler.start();
    life.wait_for_end(signals);
    worker.leave(signals.from_manager() ? Child::Sender::manager : Child::Sender::anyone);
    scheduler.close();
    if (auto* const service = worker.leads_by()) {
      worker.withheld().abandon(*service, "CMD was killed but has not ended", output);
    }
    worker.withheld().wait();
    life.check();
    return to_int(worker.withheld() ? ExitCode::not_released : ExitCode::success);
  }

 private:
  Cron parse_cron() const {
    try {
      return Cron{cron_, zone_};
    } catch (const InvalidArgumentError& e) {
      throw UsageError{e.what()};
    }
  }

  int print_starts(Output& output) const {
    const Cron cron = parse_cron();
    auto time = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    for (int i = 0; i < 10; ++i) {
      const auto next = cron.next(time);
      if (!next) break;
      time = *next;
      output.result(cron.local_text(time), {{"start", cron.local_text(time)}});
    }
    return to_int(ExitCode::success);
  }

  ScheduleConfig schedule_config() const {
    if (!cron_.empty()) return ScheduleConfig::wall_clock(parse_cron());
    if (every_.empty()) throw UsageError{"missing --every TIME or --cron FIELDS"};
    const auto period = parse_duration(every_, "--every");
    if (period <= 0ms) {
      throw UsageError{fmt::format("--every must be more than 0 (got {})", every_)};
    }
    const auto delay = parse_duration(initial_delay_, "--initial-delay");
    return rate_ ? ScheduleConfig::rate(delay, period) : ScheduleConfig::delay(delay, period);
  }

  static void tell(Output& output, const MutexContender& contender, const MutexState& state) {
    const bool leads = state.after().is_owner(contender.contender_id());
    output.event({{"event", leads ? "leading" : "following"},
                  {"mutex", contender.mutex()},
                  {"contender_id", contender.contender_id()},
                  {"owner", state.after().owner_id()}});
  }

  std::string every_;
  std::string initial_delay_ = "0";
  std::string cron_;
  std::string zone_ = "UTC";
  bool dry_run_ = false;
  std::string drain_{default_drain};
  bool rate_ = false;
};

}  // namespace

std::unique_ptr<Command> make_schedule_command() { return std::make_unique<ScheduleCommand>(); }

}  // namespace simba::cli
