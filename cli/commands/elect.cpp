// simba elect: a candidate for leadership that calls hooks.
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

#include <fmt/format.h>

#include "cli/child/attended.hpp"
#include "cli/child/lease_keeper.hpp"
#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/long_running.hpp"
#include "cli/printable.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/clock.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;

/// From TERM to KILL of a hook that runs when we are told to end: the lease ends it sooner.
constexpr std::chrono::milliseconds patience_with_hook = 5s;

struct Hooks {
  std::optional<std::string> on_acquired{};
  std::optional<std::string> on_released{};
};

/// Calls the hooks on the thread of the callbacks, so that what comes next waits for them.
class Leader final : public AbstractMutexContender {
 public:
  Leader(const Invocation& invocation, const Signals& signals, const Store& store, Hooks hooks,
         LongRunning& life, Output& output)
      : AbstractMutexContender{invocation.options.need_mutex(), invocation.options.contender_id(),
                               store.log()},
        invocation_{invocation},
        mask_{signals.original_mask()},
        plan_{store.plan()},
        hooks_{std::move(hooks)},
        life_{life},
        output_{output} {}

  void set_service(const MutexContendService& service) { service_ = &service; }

  /// The end of the command begins: what comes next is a release.
  void leave() {
    renewed_until_ = LeaseKeeper{*service_}.lease_end();
    leaving_ = true;
  }

  void notify_owner(const MutexState& state) override {
    life_.answered();
    const bool ours = state.is_acquired(contender_id()) || state.is_released(contender_id());
    if (state.is_changed() && !ours) tell_owner(state.after());
    MutexContender::notify_owner(state);
  }

  void on_event(const ContentionEvent& event) override { life_.note(event); }

  void on_acquired(const MutexState& /*state*/) override {
    LeaseKeeper keeper{*service_};
    lease_end_ = keeper.lease_end();
    tell("acquired", fmt::format("leads: mutex \"{}\", fencing token {}", printable(mutex()),
                                 service_->fencing_token()));
    if (!hooks_.on_acquired) return;
    call(*hooks_.on_acquired, "acquired",
         {.lease_end = [&] { return lease_end_ = keeper.lease_end(); },
          .kill_after = kill_after(plan_),
          .stop = service_->lost(),
          .grace = [this] { return leaving_ ? patience_with_hook : kill_after(plan_); }});
  }

  void on_released(const MutexState& state) override {
    // One that was frozen past its lease may be told to end before it knows of the loss.
    const bool lost = !leaving_ || last_lease_end() <= make_system_clock()->now();
    const std::string_view event = lost ? "lost" : "released";
    if (hooks_.on_released) {
      // After a loss nothing is protected any more, but it must not keep us out for ever.
      const LocalTime end = lost ? make_system_clock()->now() + plan_.lease() : last_lease_end();
      call(*hooks_.on_released, event,
           {.lease_end = [end] { return end; }, .kill_after = kill_after(plan_)});
    }
    tell(event, fmt::format("{}: mutex \"{}\"", lost ? "lost" : "released", printable(mutex())));
    if (!state.after().owner_id().empty()) tell_owner(state.after());
  }

 private:
  /// Renewals go on while we drain, but this is what we know for sure.
  LocalTime last_lease_end() const { return std::max(lease_end_, renewed_until_.load()); }

  void call(const std::string& hook, std::string_view event, const Attendance& attendance) {
    Program program{.words = {"sh", "-c", hook},
                    .variables = variables_of(*service_),
                    .input = Program::Input::none,
                    .mask = mask_,
                    .ignores_pipe = invocation_.ignores_pipe};
    program.variables.emplace_back("SIMBA_EVENT", event);
    Json object{{"event", "hook"}, {"hook", event}, {"mutex", mutex()}};
    try {
      const auto [end, wants_terminal] = run_attended(program, attendance);
      const int code = exit_code_of_status(end.value);
      object["exit_code"] = code;
      object["ended"] = end.forced;
      object["leftovers_ended"] = end.leftovers;
      if (code == 0 && !end.forced && !end.leftovers && !end.survivors)
        return output_.event(object);
      std::string text = fmt::format("the hook for \"{}\" ", event);
      if (end.survivors) {
        text += "has processes that belong to another user and could not be ended";
      } else if (wants_terminal) {
        text += "was ended: it wants to use the terminal, which it can not have";
      } else if (end.forced) {
        text += "took too long and was ended";
      } else if (code != 0) {
        text += fmt::format("ended with exit code {}", code);
      } else {
        text += "had left processes in its group; they were ended (setsid keeps them)";
      }
      output_.note(text, object);
    } catch (const Failure& e) {
      object["message"] = e.what();
      output_.note(e.what(), object);
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
    output_.result(id.empty() ? fmt::format("nobody owns mutex \"{}\"", shown)
                              : fmt::format("follows: {} owns mutex \"{}\"", printable(id), shown),
                   {{"event", "owner"}, {"mutex", mutex()}, {"owner", id}});
  }

  const Invocation& invocation_;
  const sigset_t mask_;
  const engine::ContentionPlan plan_;
  const Hooks hooks_;
  LongRunning& life_;
  Output& output_;
  const MutexContendService* service_ = nullptr;
  std::atomic<bool> leaving_{false};
  std::atomic<LocalTime> renewed_until_{LocalTime::min()};
  LocalTime lease_end_{};  // touched by callbacks only
};

class ElectCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* elect = app.add_subcommand("elect", "Stay a candidate for leadership and call hooks");
    elect
        ->add_option("--on-acquired", hooks_.on_acquired, "Called by sh -c when this one leads now")
        ->type_name("CMD");
    elect
        ->add_option(
            "--on-released", hooks_.on_released,
            "Called by sh -c when it leads no more; before the mutex is given back, unless "
            "it was lost")
        ->type_name("CMD");
    elect->footer(
        R"(Prints every change of the leader. Hooks get SIMBA_MUTEX, SIMBA_CONTENDER_ID, SIMBA_FENCING_TOKEN
and SIMBA_EVENT (acquired, released or lost). One that is still busy when the lease is over is ended:
TERM, then KILL; and so is what it leaves running, a second after its end, unless by setsid. INT and TERM give the mutex back and end simba with exit code 0.

Examples:
  simba elect -b redis://10.0.0.5 -m leader --on-acquired './vip add' --on-released './vip remove'
  simba elect -m leader --json
)");
    return elect;
  }

  int run(const Invocation& invocation, Output& output) override {
    invocation.options.need_mutex();
    Signals signals;  // before any thread
    const Store store{invocation.options, Store::Talk::warnings};
    LongRunning life;
    Leader leader{invocation, signals, store, hooks_, life, output};
    const auto service = store.factory().create_mutex_contend_service(leader);
    leader.set_service(*service);
    service->start();
    life.wait_for_end(signals);
    leader.leave();
    service->close();
    return to_int(ExitCode::success);
  }

 private:
  Hooks hooks_;
};

}  // namespace

std::unique_ptr<Command> make_elect_command() { return std::make_unique<ElectCommand>(); }

}  // namespace simba::cli
