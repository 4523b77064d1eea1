// simba elect: a candidate for leadership that calls hooks.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/child/lease_keeper.hpp"
#include "cli/child/signals.hpp"
#include "cli/child/supervised.hpp"
#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/health/probes.hpp"
#include "cli/long_running.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/times.hpp"
#include "cli/store.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/clock.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;

/// From TERM to KILL of a hook that has to end although the lease lasts: the lease ends it sooner.
constexpr std::chrono::milliseconds patience_with_hook = 5s;

enum class OnFailure { step_down, keep };

struct Hooks {
  std::optional<std::string> on_acquired{};
  std::optional<std::string> on_released{};
};

/// Calls the hooks on the thread of the callbacks, so that what comes next waits for them. The one
/// for the release has a guardian from the acquisition on, which calls it if we are killed.
///
/// What may happen to it, and what is done:
///   released   It succeeds: the mutex is released. It fails, or takes longer than --drain, or
///              the lease, which is renewed meanwhile, is over: the lease is left to run out.
///   lost       It has --drain, too, and nothing is left to be given back.
///   killed     The guardian calls it, as released, until the lease is over.
///   stopped    past the lease: the guardian calls it, as lost; we learn of it when we go on.
/// At the end of --max-hold the main thread has the mutex released.
class Leader final : public AbstractMutexContender {
 public:
  Leader(const Invocation& invocation, const std::string& id, const Signals& signals,
         const Store& store, Hooks hooks, std::chrono::milliseconds drain,
         std::optional<std::chrono::milliseconds> max_hold, OnFailure on_failure, LongRunning& life,
         Probes& probes, Output& output)
      : AbstractMutexContender{invocation.options.need_mutex(), id, store.log()},
        invocation_{invocation},
        passwords_{store.passwords()},
        mask_{signals.original_mask()},
        plan_{store.plan()},
        hooks_{std::move(hooks)},
        drain_{drain},
        max_hold_{max_hold},
        on_failure_{on_failure},
        withheld_{plan_},
        life_{life},
        probes_{probes},
        output_{output} {}

  void set_service(MutexContendService& service) { service_ = &service; }

  /// Tells the guardian how long the lease lasts. Returns after how long to do so again.
  std::chrono::milliseconds look() {
    const std::lock_guard lock{mutex_};
    if (!release_hook_) return 60s;
    const LocalTime end = service_->lease_until();
    if (end <= make_system_clock()->now()) return 60s;  // we are about to be told
    release_hook_->extend(end);
    return until_next_look(end);
  }

  /// True, once, after a hook for the acquisition that failed.
  bool wants_to_step_down() noexcept { return failed_.exchange(false); }

  /// When it has led for long enough; `never` where it does not lead, or there is no such limit.
  LocalTime leads_until() const noexcept { return leads_until_; }

  /// True from an acquisition until its release is over, with the hooks of both.
  bool leads() const noexcept { return leads_; }

  Withheld& withheld() noexcept { return withheld_; }

  void notify_owner(const MutexState& state) override {
    life_.answered(*this, state);
    probes_.answered(state.after().owner_id());
    const bool ours = state.is_acquired(contender_id()) || state.is_released(contender_id());
    if (state.is_changed() && !ours) tell_owner(state.after());
    MutexContender::notify_owner(state);
  }

  void on_event(const ContentionEvent& event) override { life_.note(*this, event); }

  void on_acquired(const MutexState& /*state*/) override {
    leads_ = true;
    if (max_hold_) {
      leads_until_ = make_system_clock()->now() + *max_hold_;
      life_.wake();  // to look
    }
    const std::string_view event = "acquired";
    LeaseKeeper keeper{*service_};
    bool well = call(event, [&] {
      prepare_release_hook(keeper.lease_end());
      return std::nullopt;
    });
    tell(event, fmt::format("leading: mutex \"{}\", fencing token {}", printable(mutex()),
                            service_->fencing_token()));
    if (well && hooks_.on_acquired) {
      well = call(event, [&] { return run_first_hook(keeper, event); });
    }
    if (well || on_failure_ == OnFailure::keep) probes_.leads();
    if (well || on_failure_ == OnFailure::keep || !service_->is_owner()) return;
    failed_ = true;
    life_.wake();
  }

  void on_released(const MutexState& state) override {
    probes_.follows();
    leads_until_ = never;
    LeaseKeeper keeper{*service_};
    const bool lost = keeper.lease_end() <= make_system_clock()->now();
    const std::string_view event = lost ? "lost" : "released";
    const bool called = hooks_.on_released.has_value();
    const bool well = !called || call(event, [&] { return say_release_hook(keeper, lost); });
    if (called && !lost && (!well || service_->lease_left() == 0s)) {
      withheld_.keep(
          *service_,
          well ? "its lease expired before the \"released\" hook had ended"
               : "the \"released\" hook failed, so what it should stop may still be running",
          output_);
    } else {
      tell(event, fmt::format("{}: mutex \"{}\"", lost ? "lost" : "released", printable(mutex())));
    }
    if (!state.after().owner_id().empty()) tell_owner(state.after());
    leads_ = false;
  }

 private:
  Program program(const std::string& hook, std::string_view event) const {
    Program program{.words = {"sh", "-c", hook},
                    .variables = variables_of(*service_),
                    .passwords = passwords_,
                    .input = Program::Input::none,
                    .mask = mask_,
                    .ignores_pipe = invocation_.ignores_pipe,
                    .passed_on = invocation_.passed_on};
    program.variables.emplace_back("SIMBA_EVENT", event);
    return program;
  }

  SupervisedEnd run_first_hook(LeaseKeeper& keeper, std::string_view event) {
    const auto lease_end = [&] {
      const LocalTime end = keeper.lease_end();
      if (release_hook_) release_hook_->extend(end);
      return end;
    };
    const auto grace = [this] {
      return service_->lease_left() > 0s ? patience_with_hook : kill_after(plan_);
    };
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): called only where there is one
    return run_supervised(program(*hooks_.on_acquired, event),
                          {.lease_end = lease_end,
                           .kill_after = kill_after(plan_),
                           .stop = service_->lost(),
                           .grace = grace},
                          release_hook_.get());
  }

  void prepare_release_hook(LocalTime lease_end) {
    if (!hooks_.on_released) return;
    auto release_hook = program(*hooks_.on_released, "released");
    const auto line = [&](std::string_view fate, std::string_view text) {
      return output_.note_line(
          fmt::format("simba was killed; its guardian ran the \"released\" hook of mutex \"{}\"{}",
                      printable(mutex()), text),
          {{"event", "guardian"}, {"hook", "released"}, {"mutex", mutex()}, {"fate", fate}});
    };
    release_hook.release_hook = ReleaseHook{
        .lost_variable = {"SIMBA_EVENT", "lost"},
        .limit = drain_ + patience_with_hook,
        .done = line("done", ""),
        .failed = line("failed", ", which failed: what it should stop may still be running"),
        .killed =
            line("killed",
                 ", which was killed because the lease expired: what it should stop may still be "
                 "running")};
    auto child = std::make_unique<Child>(release_hook, lease_end, kill_after(plan_));
    {
      const std::lock_guard lock{mutex_};
      release_hook_ = std::move(child);
    }
    life_.wake();  // to look
  }

  SupervisedEnd say_release_hook(LeaseKeeper& keeper, bool lost) {
    std::unique_ptr<Child> release_hook;
    {
      const std::lock_guard lock{mutex_};
      release_hook = std::move(release_hook_);
    }
    const LocalTime deadline = make_system_clock()->now() + drain_;
    const Supervision supervision{
        .lease_end = [&] { return lost ? deadline + patience_with_hook : keeper.lease_end(); },
        .kill_after = kill_after(plan_),
        .deadline = deadline,
        .grace = [] { return patience_with_hook; }};
    if (release_hook) {
      release_hook->begin(lost ? Child::Occasion::loss : Child::Occasion::release);
      const SupervisedEnd end = supervise(*release_hook, supervision);
      if (end.started || !end.child.unguarded) return end;
    }
    // Its guardian was killed, or there was none to be had.
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): called only where there is a hook
    return run_supervised(program(*hooks_.on_released, lost ? "lost" : "released"), supervision);
  }

  /// True where the hook, if there is one, has done what it should. Otherwise that is told.
  bool call(std::string_view event, const std::function<std::optional<SupervisedEnd>()>& run) {
    Json object{{"event", "hook"}, {"hook", event}, {"mutex", mutex()}};
    try {
      const auto finished = run();
      if (!finished) return true;
      const Child::Event& end = finished->child;
      const int code = exit_code_of_status(end.value);
      object["exit_code"] = code;
      object["ended"] = end.forced;
      object["leftovers_ended"] = end.leftovers;
      if (const std::string problem = problem_of(*finished); problem.empty()) {
        output_.event(object);
      } else {
        output_.note(fmt::format("the \"{}\" hook {}", event, problem), object);
      }
      return code == 0 && !end.forced && !end.survivors;
    } catch (const std::exception& e) {
      object["message"] = e.what();
      const auto* failure = dynamic_cast<const Failure*>(&e);
      if (failure != nullptr && failure->code() == ExitCode::lost) {  // it was not to run any more
        output_.event(object);
      } else {
        output_.note(e.what(), object);
      }
      return false;
    }
  }

  void tell(std::string_view event, std::string_view text) {
    output_.result(text, {{"event", event},
                          {"mutex", mutex()},
                          {"contender_id", contender_id()},
                          {"fencing_token", service_->fencing_token()}});
  }

  void tell_owner(const MutexOwner& owner) {
    const std::string& id = owner.owner_id();
    const std::string shown = printable(mutex());
    output_.result(
        id.empty() ? fmt::format("mutex \"{}\" has no owner", shown)
                   : fmt::format("following: mutex \"{}\" is owned by {}", shown, printable(id)),
        {{"event", "owner"}, {"mutex", mutex()}, {"owner", id}});
  }

  const Invocation& invocation_;
  const Passwords passwords_;
  const sigset_t mask_;
  const ContentionPlan plan_;
  const Hooks hooks_;
  const std::chrono::milliseconds drain_;
  const std::optional<std::chrono::milliseconds> max_hold_;
  const OnFailure on_failure_;
  Withheld withheld_;
  LongRunning& life_;
  Probes& probes_;
  Output& output_;
  MutexContendService* service_ = nullptr;
  std::atomic<bool> failed_{false};
  std::atomic<bool> leads_{false};
  std::atomic<LocalTime> leads_until_{never};
  std::mutex mutex_;
  std::unique_ptr<Child> release_hook_;  // changed by callbacks only, and under mutex_
};

class ElectCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* elect = app.add_subcommand("elect", "Stand for leadership and run hooks when it changes");
    elect
        ->add_option("--on-acquired", hooks_.on_acquired, "Shell command to run on becoming leader")
        ->type_name("CMD");
    elect
        ->add_option(
            "--on-released", hooks_.on_released,
            "Shell command to run on ceasing to be leader; before the mutex is released, unless it "
            "was lost")
        ->type_name("CMD");
    elect
        ->add_option("--on-failure", on_failure_,
                     "What to do if --on-acquired fails: step-down (default) releases the mutex "
                     "and contends again after the length of a lease; keep stays leader")
        ->type_name("step-down|keep")
        ->check(CLI::IsMember({"step-down", "keep"}));
    elect
        ->add_option("--drain", drain_,
                     "How long to keep the mutex while --on-released runs (default: 90s)")
        ->type_name("TIME");
    elect
        ->add_option("--max-hold", max_hold_,
                     "How long to lead before stepping down: releases the mutex and contends again "
                     "after the length of a lease (default: no limit)")
        ->type_name("TIME");
    probes_.add_to(*elect);
    elect->footer(
        R"(Prints every change of leader. The environment of hooks has SIMBA_MUTEX, SIMBA_CONTENDER_ID,
SIMBA_FENCING_TOKEN and SIMBA_EVENT (acquired, released or lost). Processes that a hook leaves
running are terminated a second after it ends, unless started with setsid. On SIGINT and SIGTERM
simba runs --on-released, releases the mutex and exits with 0. If that hook fails, or takes longer
than --drain, the mutex is not released: simba waits until the lease has expired, and exits with 79.
The same applies when it steps down at the end of --max-hold.
If simba is killed, its guardian process runs the hook.
To run a service on one host at a time, prefer simba run -m NAME -- SERVICE: it needs no hooks.

Examples:
  simba elect -b redis://10.0.0.5 -m leader --on-acquired './vip add' --on-released './vip remove'
  simba elect -b redis://10.0.0.5 -m leader --json
)");
    return elect;
  }

  int run(const Invocation& invocation, Output& output) override {
    invocation.options.need_mutex();
    const auto drain = parse_duration(drain_, "--drain");
    std::optional<std::chrono::milliseconds> max_hold;
    if (max_hold_) max_hold = parse_max_hold(*max_hold_);
    Probes probes{probes_};  // before any thread
    check_drain(probes, max_hold);
    Signals signals{Signals::Orphans::reaped};  // before any thread
    output.queue_results();
    // A hook for the acquisition may have to end first.
    const Store store{invocation.options, output, Store::LogLevelWithoutVerbose::warnings,
                      patience_with_hook + drain + time_to_kill};
    const std::string id = invocation.options.contender_id();
    probes.open(invocation.options.need_mutex(), id, store.factory().runtime(), output);
    LongRunning life;
    const auto on_failure = on_failure_ == "keep" ? OnFailure::keep : OnFailure::step_down;
    Leader leader{invocation, id,         signals, store,  hooks_, drain,
                  max_hold,   on_failure, life,    probes, output};
    const auto service = store.factory().create_mutex_contend_service(leader);
    leader.set_service(*service);
    service->start();
    probes.contends();
    const auto clock = make_system_clock();
    LocalTime contend_again = never;
    const auto look = [&]() -> std::optional<std::chrono::milliseconds> {
      const bool failed = leader.wants_to_step_down();
      const bool overdue = clock->now() >= leader.leads_until();
      if (failed || overdue) {
        const std::string led =
            overdue ? fmt::format("led for {} (--max-hold); ", to_text(*max_hold)) : "";
        output.note(fmt::format("{}stepping down; contending again in {}", led,
                                to_text(store.plan().lease())),
                    {{"event", "steps_down"},
                     {"mutex", leader.mutex()},
                     {"reason", overdue ? "max_hold" : "hook_failed"}});
        service->stop();
        if (leader.leads() || leader.withheld()) return std::nullopt;
        contend_again = clock->now() + store.plan().lease();
      }
      if (clock->now() >= contend_again) {
        contend_again = never;
        service->start();
      }
      if (contend_again != never) return until_next_look(contend_again);
      const LocalTime end = leader.leads_until();
      const bool ends_soon = clock->now() >= end - probes.drain();
      if (ends_soon) probes.drains();
      return std::min(leader.look(), until_next_look(ends_soon ? end : end - probes.drain()));
    };
    life.wait_for_end(signals, look);
    probes.ends();
    probes.drains();
    life.wait_for_end(signals, [&]() -> std::optional<std::chrono::milliseconds> {
      const auto left = probes.drained_at() - clock->now();
      if (left <= 0ns || !service->is_owner()) return std::nullopt;
      return std::min(leader.look(), std::chrono::ceil<std::chrono::milliseconds>(left));
    });
    service->close();
    if (leader.leads()) {
      leader.withheld().abandon(*service,
                                "the \"released\" hook did not run or did not end in time", output);
    }
    leader.withheld().wait();
    life.check();
    return to_int(leader.withheld() ? ExitCode::not_released : ExitCode::success);
  }

 private:
  Hooks hooks_;
  std::string on_failure_ = "step-down";
  std::string drain_{default_drain};
  std::optional<std::string> max_hold_;
  ProbeArguments probes_;
};

}  // namespace

std::unique_ptr<Command> make_elect_command() { return std::make_unique<ElectCommand>(); }

}  // namespace simba::cli
