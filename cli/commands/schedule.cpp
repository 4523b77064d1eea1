// simba schedule: runs CMD at its slots, once each whoever leads, or periodically on the leader;
// and pauses, resumes and triggers such a schedule from elsewhere.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/child/descendants.hpp"
#include "cli/child/lease_keeper.hpp"
#include "cli/child/output_tail.hpp"
#include "cli/child/signals.hpp"
#include "cli/child/supervised.hpp"
#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/health/probes.hpp"
#include "cli/keyed_run.hpp"
#include "cli/long_running.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/times.hpp"
#include "cli/output/usage.hpp"
#include "cli/slot_arguments.hpp"
#include "cli/store.hpp"
#include "simba/schedule/scheduler.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;

/// As `RunReport::slot` has it: "2026-11-20T03:00:00Z".
std::string slot_text(const Slot& slot) {
  constexpr std::string_view zero = ".000Z";
  std::string text = to_utc(slot.time);
  if (text.ends_with(zero)) text.replace(text.size() - zero.size(), zero.size(), "Z");
  return text;
}

/// The library's log has it as a line for people.
Json json_of(const SlotEvent& event) {
  Json object{{"event", to_string(event.kind)}, {"mutex", event.mutex}};
  if (event.slot) {
    object["slot"] = slot_text(*event.slot);
    object["number"] = event.slot->number;
    object["attempt"] = event.slot->attempt;
  }
  switch (event.kind) {
    case SlotEvent::Kind::missed:
    case SlotEvent::Kind::skipped:
      object["count"] = event.count;
      break;
    case SlotEvent::Kind::failed:
    case SlotEvent::Kind::lost:
      object["attempts_left"] = event.attempts_left;
      break;
    case SlotEvent::Kind::definition_changed:
    case SlotEvent::Kind::stalled:
      break;
  }
  object["message"] = event.message;
  return object;
}

/// Runs CMD for the scheduler, and says what came of it.
class Worker {
 public:
  Worker(const Invocation& invocation, const Signals& signals, const Store& store,
         std::chrono::milliseconds drain, bool keeps_output, Output& output)
      : invocation_{invocation},
        passwords_{store.passwords()},
        mask_{signals.original_mask()},
        manager_{signals.manager()},
        kill_after_{kill_after(store.plan())},
        drain_{drain},
        keeps_output_{keeps_output},
        withheld_{store.plan()},
        output_{output} {}

  /// The end of the command begins: CMD gets time to tidy up.
  void leave(Child::Sender sender) noexcept {
    sender_ = sender;
    leaving_ = true;
  }

  /// Throws RunFailure where CMD does not end well and has a slot.
  void work(const MutexContendService& service, const simba::Run& run) {
    LeaseKeeper keeper{service};
    Json object{{"event", "run"},
                {"mutex", service.contender().mutex()},
                {"contender_id", service.contender_id()},
                {"fencing_token", service.fencing_token()}};
    auto variables = variables_of(service);
    if (const auto& slot = run.slot()) {
      object["slot"] = slot_text(*slot);
      object["number"] = slot->number;
      object["attempt"] = slot->attempt;
      for (auto& variable : variables_of(slot_text(*slot), *slot)) {
        variables.push_back(std::move(variable));
      }
    }
    std::optional<OutputTail> tail;
    if (keeps_output_) tail.emplace();
    bool drains = false;
    std::optional<SupervisedEnd> end;
    try {
      end = run_supervised({.words = invocation_.words,
                            .variables = std::move(variables),
                            .passwords = passwords_,
                            .input = Program::Input::none,
                            .output = tail ? tail->output() : -1,
                            .errors = tail ? tail->errors() : -1,
                            .mask = mask_,
                            .ignores_pipe = invocation_.ignores_pipe,
                            .manager = manager_,
                            .passed_on = invocation_.passed_on},
                           {.lease_end = [&] { return keeper.lease_end(); },
                            .kill_after = kill_after_,
                            .stop = run.stop(),
                            .grace =
                                [&] {
                                  drains = leaving_;
                                  // A later slot may have cancelled it: then the mutex is ours.
                                  return drains || service.is_owner() ? drain_ : kill_after_;
                                },
                            .sender = [this] { return sender_.load(); }});
    } catch (const Failure& e) {
      object["exit_code"] = to_int(e.code());
      object["message"] = e.what();
      const bool expected = leaving_ && e.code() == ExitCode::lost;  // told to end before CMD ran
      if (expected || run.slot()) {
        output_.event(object);
      } else {
        output_.note(e.what(), object);
      }
      if (run.slot()) throw RunFailure{e.what(), to_int(e.code())};
      return;
    }
    const std::string output = tail ? tail->finish() : "";
    if (drains && end->child.killed && !end->child.survivors) {
      killed_ =
          service.lease_left() == 0s ? "its lease expired before CMD, which was killed, had ended"
          : end->child.unguarded && !end->child.overdue
              ? "CMD " + problem_of(*end)
              : fmt::format("CMD had not ended {} after SIGTERM and was killed", to_text(drain_));
    }
    if (end->child.survivors) survivors_ = true;
    const int code = exit_code_of_status(end->child.value);
    const bool failed = code != 0 || end->child.forced;
    // The scheduler says how the run of a slot has failed.
    tell_end(*end, service.is_owner(), run.slot() && failed && !end->child.forced,
             std::move(object));
    if (run.slot() && failed) throw RunFailure{reason_of(*end, service.is_owner()), code, output};
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

  /// For the history.
  std::string reason_of(const SupervisedEnd& end, bool is_owner) const {
    const Child::Event& child = end.child;
    const bool unguarded = child.unguarded && !child.overdue;
    if (!child.forced || child.survivors || end.wants_terminal || unguarded) return problem_of(end);
    if (leaving_) return "told to end";
    return is_owner ? "told to end: a later slot had come (--while-busy)" : problem_of(end);
  }

  void tell_end(const SupervisedEnd& finished, bool is_owner, bool is_told, Json object) {
    const Child::Event& end = finished.child;
    const int code = exit_code_of_status(end.value);
    object["exit_code"] = code;
    object["ended"] = end.forced;
    object["killed"] = end.killed;
    object["leftovers_ended"] = end.leftovers;
    // While we leave, CMD is told to end: how it takes that is expected.
    const bool usual = !end.survivors && !finished.wants_terminal;
    const std::string problem = problem_of(finished);
    if (problem.empty() || (leaving_ && usual) || (is_told && usual)) {
      output_.event(object);
    } else {
      const bool cancelled = end.forced && usual;
      output_.note(!cancelled ? "CMD " + problem
                   : is_owner ? "a later slot has come; CMD was terminated (--while-busy)"
                              : "mutex lost; CMD was terminated",
                   object);
    }
  }

  const Invocation& invocation_;
  const Passwords passwords_;
  const sigset_t mask_;
  const pid_t manager_;
  const std::chrono::milliseconds kill_after_;
  const std::chrono::milliseconds drain_;
  const bool keeps_output_;
  Withheld withheld_;
  Output& output_;
  // used by one run or callback at a time
  std::string killed_;      // why CMD was killed while we were leaving; empty: it was not
  bool survivors_ = false;  // a run has left processes of another user, which may have ended since
  std::atomic<MutexContendService*> leads_by_{nullptr};
  std::atomic<bool> leaving_{false};
  std::atomic<Child::Sender> sender_{Child::Sender::anyone};
};

/// Says if the schedule of the host that leads differs from ours, which counts only once we lead.
/// Used by one callback at a time.
class DefinitionCheck {
 public:
  DefinitionCheck(const ScheduleConfig& config, const Store& store, Output& output)
      : shares_slots_{config.strategy == ScheduleConfig::Strategy::slots},
        definition_{text_of(config)},
        store_{store},
        output_{output} {}

  /// Hears of every change of the owner. Asks the store until it has compared them once, with a
  /// deadline.
  void changed(const MutexContender& contender, const MutexState& state) {
    const std::string& owner = state.after().owner_id();
    if (compared_ || owner.empty() || owner == contender.contender_id()) return;
    const std::string& mutex = contender.mutex();
    try {
      const std::string registered = store_.schedule_records(1s).report(mutex).definition;
      if (registered.empty()) return;
      compared_ = true;
      if (registered == definition_) return;
      output_.note(text(mutex, registered), {{"event", "definition_differs"},
                                             {"mutex", mutex},
                                             {"registered", registered},
                                             {"definition", definition_}});
    } catch (const Error&) {
      return;  // whoever leads is told of it
    }
  }

 private:
  /// As the record has it: its first 400 bytes.
  static std::string text_of(ScheduleConfig config) {
    config.slots.history = SlotOptions{}.history;  // may differ
    return to_string(config).substr(0, 400);
  }

  std::string text(const std::string& mutex, const std::string& registered) const {
    if (!shares_slots_) {
      return fmt::format(
          "schedule \"{}\" has slots that hosts share (\"{}\"), but none here (--per-leader), so "
          "starts may be repeated; make it the same on all hosts",
          printable(mutex), printable(registered));
    }
    return fmt::format(
        "schedule \"{}\" is \"{}\" on the host that leads, and \"{}\" here; make it the same on "
        "all hosts",
        printable(mutex), printable(registered), printable(definition_));
  }

  const bool shares_slots_;
  const std::string definition_;
  const Store& store_;
  Output& output_;
  bool compared_ = false;
};

class ScheduleCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* schedule = app.add_subcommand(
        "schedule",
        "Run CMD at fixed times on whichever host leads, or pause, resume or trigger it");
    schedule
        ->add_option(
            "ACTION", action_,
            "Instead of CMD, for a schedule that runs elsewhere: pause, resume, or trigger "
            "one more run now")
        ->type_name("");
    auto* const every =
        schedule
            ->add_option("--every", every_,
                         "Time from one start of CMD to the next, counted from the first start of "
                         "the schedule on any host")
            ->type_name("TIME");
    auto* const cron =
        schedule
            ->add_option("--cron", cron_,
                         "When to start CMD, as in crontab(5): \"0 3 * * *\" is every day at 3:00")
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
    auto* const per_leader = schedule->add_flag(
        "--per-leader", per_leader_,
        "Count from the moment of becoming leader, or follow this host's clock, and share nothing "
        "through the store: a change of leader may repeat or skip starts. --every then counts from "
        "the end of CMD");
    schedule
        ->add_flag("--rate", rate_,
                   "With --per-leader: measure --every from start to start; starts that are missed "
                   "meanwhile are skipped. Without --per-leader this always applies")
        ->needs(every);
    schedule
        ->add_option("--initial-delay", initial_delay_,
                     "Time before the very first start; with --per-leader, before the first start "
                     "of each leader (default: 0)")
        ->type_name("TIME")
        ->needs(every);
    slots_.add_to(*schedule, per_leader);
    schedule
        ->add_flag("--keep-output", keep_output_,
                   "If CMD does not end well, keep the last 2,000 bytes of its output and errors "
                   "in the history, for \"simba runs --json\"")
        ->excludes(per_leader);
    schedule
        ->add_option("--drain", drain_,
                     "How long to keep the mutex while CMD ends after simba is told to stop "
                     "(default: 90s)")
        ->type_name("TIME");
    probes_.add_to(*schedule);
    schedule->footer(
        R"(Start it on as many hosts as you like, with the same options: the one that owns the mutex runs CMD,
and if that host fails, another takes over. The store records which slots (start times) have begun
and how they ended, so a change of leader does not repeat one; "simba runs" shows that. Slots that
pass while nobody leads are handled by --missed: by default the latest one runs late. A slot whose
host dies, or whose CMD fails, is reported and not repeated (--promise at-most-once), or begun
again, after 10 s and then twice as long each time, up to --max-attempts (at-least-once). CMD has
SIMBA_SLOT (the time of its slot), SIMBA_RUN_NUMBER and SIMBA_ATTEMPT. Times are those of the
store's server; on SQLite and ZooKeeper those of the host.

Failures of CMD are reported, and the schedule continues. If the mutex is lost, CMD is terminated
before anyone else can own it. SIGINT and SIGTERM stop CMD, then simba, with exit code 0: CMD gets
SIGTERM, and SIGKILL after --drain. The mutex is kept until CMD has ended. If CMD had to be killed, or
has processes of another user, which cannot be killed, the mutex is not released: simba waits until
the lease has expired, and exits with 79.

Examples:
  simba schedule -b redis://10.0.0.5 -m cleanup --every 30s -- ./sweep --all
  simba schedule -b redis://10.0.0.5 -m nightly --cron '0 3 * * *' --zone Europe/Berlin -- ./backup
  simba schedule -b redis://10.0.0.5 -m report --cron @hourly --promise at-least-once -- ./report
  simba schedule pause -b redis://10.0.0.5 -m cleanup
  simba schedule --cron '0 3 * * mon-fri' --zone Europe/Berlin --dry-run
)");
    return schedule;
  }

  bool takes_words() const noexcept override { return true; }
  int run(const Invocation& invocation, Output& output) override {
    if (!action_.empty()) return steer(invocation, output);
    if (dry_run_) return print_starts(output);
    const std::string& mutex = invocation.options.need_mutex();
    if (invocation.words.empty()) {
      throw UsageError{"missing CMD; put it after \"--\": simba schedule -m " + mutex +
                       " --every TIME -- CMD"};
    }
    const ScheduleConfig config = schedule_config();
    const auto drain = parse_duration(drain_, "--drain");

    Probes probes{probes_};                     // before any thread
    Signals signals{Signals::Orphans::reaped};  // before any thread
    const Store store{invocation.options, output, Store::LogLevelWithoutVerbose::warnings,
                      drain + time_to_kill};
    const std::string id = invocation.options.contender_id();
    probes.open(mutex, id, store.factory().runtime(), output);
    LongRunning life;
    Worker worker{invocation, signals, store, drain, keep_output_, output};
    DefinitionCheck definition{config, store, output};
    const Scheduler* self = nullptr;
    Scheduler scheduler{
        mutex,
        store.factory(),
        config,
        [&](const simba::Run& run) { worker.work(self->contend_service(), run); },
        {.contender_id = id,
         .on_state =
             [&](MutexContendService& service, const MutexState& state) {
               life.answered(service.contender(), state);
               probes.answered(state.after().owner_id());
               if (state.is_acquired(id)) probes.leads();
               if (state.is_released(id)) probes.follows();
               tell(output, service.contender(), state);
               worker.changed(service, state);
               definition.changed(service.contender(), state);
             },
         .on_event = [&](MutexContendService& service,
                         const ContentionEvent& event) { life.note(service.contender(), event); },
         .on_slot = [&](const SlotEvent& event) { output.event(json_of(event)); }}};
    self = &scheduler;
    scheduler.start();
    probes.contends();
    life.wait_for_end(signals);
    probes.ends();
    probes.drains();
    life.wait_for_end(signals, [&]() -> std::optional<std::chrono::milliseconds> {
      const auto left = probes.drained_at() - make_system_clock()->now();
      if (left <= std::chrono::nanoseconds::zero() || worker.leads_by() == nullptr) {
        return std::nullopt;
      }
      return std::chrono::ceil<std::chrono::milliseconds>(left);
    });
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

  /// Another process runs it.
  int steer(const Invocation& invocation, Output& output) const {
    const auto& options = invocation.options;
    const std::vector<std::string> actions{"pause", "resume", "trigger"};
    if (std::find(actions.begin(), actions.end(), action_) == actions.end()) {
      throw UsageError{unexpected_word(action_, options.mutex.has_value(), actions)};
    }
    if (!invocation.words.empty()) {
      throw UsageError{action_ + " takes no arguments after \"--\""};
    }
    const std::string& mutex = options.need_mutex();
    const ScheduleRecords records = schedule_records_of(options, output);
    const std::string name = printable(mutex);
    try {
      bool changed = true;
      std::string text;
      if (action_ == "pause") {
        changed = records.pause(mutex);
        text = changed ? fmt::format("paused \"{}\": no slot begins until it is resumed", name)
                       : fmt::format("\"{}\" was paused already", name);
      } else if (action_ == "resume") {
        changed = records.resume(mutex);
        text = changed ? fmt::format("resumed \"{}\"", name)
                       : fmt::format("\"{}\" was not paused", name);
      } else {
        changed = records.trigger(mutex);
        text = changed ? fmt::format(
                             "triggered \"{}\": it runs within 10 s, once a run that is "
                             "under way has ended",
                             name)
                       : fmt::format("\"{}\" was triggered already, and that run has not begun yet",
                                     name);
      }
      output.result(text, {{"event", action_}, {"mutex", mutex}, {"changed", changed}});
    } catch (const IllegalStateError& e) {
      throw Failure{ExitCode::configuration, e.what()};
    }
    return to_int(ExitCode::success);
  }

  static std::string unexpected_word(const std::string& word, bool has_mutex,
                                     const std::vector<std::string>& actions) {
    const std::string text = fmt::format("unexpected argument \"{}\"", word);
    if (const auto meant = nearest(word, actions); !meant.empty()) {
      return fmt::format("{}; did you mean {}?", text, meant);
    }
    return has_mutex
               ? fmt::format("{}; put \"--\" before CMD: simba schedule -m NAME -- {}", text, word)
               : fmt::format("{}; did you mean -m {}?", text, word);
  }

  ScheduleConfig schedule_config() const {
    const SlotOptions slots = slots_.options();
    try {
      if (!cron_.empty()) {
        return per_leader_ ? ScheduleConfig::wall_clock(Cron{cron_, zone_})
                           : ScheduleConfig::shared(Cron{cron_, zone_}, slots);
      }
      return periodic(slots);
    } catch (const InvalidArgumentError& e) {
      throw UsageError{e.what()};
    }
  }

  ScheduleConfig periodic(const SlotOptions& slots) const {
    if (every_.empty()) throw UsageError{"missing --every TIME or --cron FIELDS"};
    const auto period = parse_duration(every_, "--every");
    if (period <= 0ms) {
      throw UsageError{fmt::format("--every must be more than 0 (got {})", every_)};
    }
    const auto delay = parse_duration(initial_delay_, "--initial-delay");
    if (!per_leader_) return ScheduleConfig::shared_rate(delay, period, slots);
    return rate_ ? ScheduleConfig::rate(delay, period) : ScheduleConfig::delay(delay, period);
  }

  static void tell(Output& output, const MutexContender& contender, const MutexState& state) {
    const bool leads = state.after().is_owner(contender.contender_id());
    output.event({{"event", leads ? "leading" : "following"},
                  {"mutex", contender.mutex()},
                  {"contender_id", contender.contender_id()},
                  {"owner", state.after().owner_id()}});
  }

  std::string action_;
  std::string every_;
  std::string initial_delay_ = "0";
  std::string cron_;
  std::string zone_ = "UTC";
  bool dry_run_ = false;
  std::string drain_{default_drain};
  bool rate_ = false;
  bool per_leader_ = false;
  bool keep_output_ = false;
  SlotArguments slots_;
  ProbeArguments probes_;
};

}  // namespace

std::unique_ptr<Command> make_schedule_command() { return std::make_unique<ScheduleCommand>(); }

}  // namespace simba::cli
