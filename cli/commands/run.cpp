// simba run: a CMD under a mutex.
//
// What may happen, and what is done:
//   waiting    a signal: 128+n, CMD never runs. Time is over: 75. Store silent: 69; refuses: 77.
//   starting   Loss: CMD never runs, 76, even with --on-loss continue. Signals: as below.
//   running    CMD ends: what it left in its group is ended too, then release, its exit code.
//              Signals: to the whole group. CMD stops by job control: so do we, and go on together.
//              Loss: TERM, KILL within the margin, 76; with --on-loss continue only a warning.
//              Another process uses the same contender id: the same, but 78.
//              simba stopped past its lease, or killed: the guardian ends the group.
//              Guardian killed: the kernel kills CMD, and we the rest of the group. Guardian
//              stopped when it should act: we kill it.
//   releasing  signals wait; it is bounded by the release wait of the store.
#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <poll.h>
#include <stop_token>
#include <string>

#include <fmt/format.h>

#include "cli/candidate.hpp"
#include "cli/child/child.hpp"
#include "cli/child/lease_keeper.hpp"
#include "cli/child/terminal.hpp"
#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/store.hpp"
#include "cli/terminal/log.hpp"
#include "cli/terminal/printable.hpp"
#include "cli/terminal/times.hpp"

namespace simba::cli {
namespace {

enum class OnLoss { terminate, proceed };

/// CMD from its start to its end, on the main thread.
class Run {
 public:
  Run(const Invocation& invocation, Candidate& candidate, MutexContendService& service,
      Signals& signals, const engine::ContentionPlan& plan, OnLoss on_loss, Output& output)
      : candidate_{candidate},
        service_{service},
        signals_{signals},
        kill_after_{kill_after(plan)},
        on_loss_{on_loss},
        output_{output},
        keeper_{service},
        lost_{service.lost()},
        child_{program(invocation), permitted_until(), kill_after_} {}

  ~Run() { terminal_.take_back(child_.group()); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Returns the exit code. Nothing of CMD is left then. Throws Failure where it cannot be run.
  int until_end() {
    const std::stop_callback wake{lost_, [this] { candidate_.wake(); }};
    std::optional<Child::Event> end;
    while (!end) {
      const LocalTime lease_end = permitted_until();
      child_.extend(lease_end);
      std::array<pollfd, 3> files{{{child_.file(), POLLIN, 0},
                                   {signals_.file(), POLLIN, 0},
                                   {candidate_.file(), POLLIN, 0}}};
      const auto pause = ending_ ? look_at_end : until_next_look(lease_end);
      ::poll(files.data(), files.size(), static_cast<int>(pause.count()));
      candidate_.news();
      while (const int signal = signals_.next()) {
        const bool by_manager = signals_.from_manager();
        if (signal == SIGCONT && ending_) continue;
        child_.signal(signal, by_manager ? Child::Sender::manager : Child::Sender::anyone);
      }
      for (;;) {
        const auto event = child_.next();
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
      if (!end) look_for_loss();
    }
    return finish(*end);
  }

 private:
  Program program(const Invocation& invocation) const {
    return {.words = invocation.words,
            .variables = variables_of(service_),
            .gets_passwords = invocation.options.share_passwords,
            .input = Program::Input::ours,
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
            {"mutex", candidate_.mutex()},
            {"contender_id", candidate_.contender_id()},
            {"fencing_token", service_.fencing_token()}};
  }

  bool is_lost() const noexcept { return lost_.stop_requested() || !service_.is_owner(); }

  void look_for_loss() {
    if (told_loss_ || !is_lost()) return;
    told_loss_ = true;
    ending_ = on_loss_ == OnLoss::terminate || !started_;
    if (ending_) child_.end(kill_after_);
    if (!started_) return;  // the failure tells it
    tell_loss(ending_ ? "terminating CMD" : "CMD keeps running without it");
  }

  void tell_loss(std::string_view consequence) {
    output_.note(fmt::format("mutex \"{}\" lost; {}", printable(candidate_.mutex()), consequence),
                 described("lost"));
  }

  void started() {
    started_ = true;
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
    terminal_.take_back(child_.group());
    const int code = exit_code_of_status(end.value);
    if (code > exit_code_of_signal(0)) terminal_.restore_modes();
    if (end.leftovers && !end.survivors) {
      output_.note("CMD left processes running in its group; they were terminated",
                   described("leftovers_ended"));
    }
    if (end.unguarded && !ending_) {
      output_.note("the guardian process was killed, so CMD was terminated",
                   described("unguarded"));
    }
    if (end.survivors) {
      output_.note("CMD has processes that belong to another user and could not be terminated",
                   described("survivors"));
    }
    bool lost = ending_ || end.forced;
    if (ending_ && !started_) tell_loss("CMD was terminated while starting");
    if (!told_loss_ && (end.forced || is_lost())) {  // the guardian may have known first
      tell_loss(end.forced ? "terminating CMD" : "CMD has ended");
      lost = lost || on_loss_ == OnLoss::terminate;
    }
    auto object = described("ended");
    object["exit_code"] = code;
    output_.event(object);
    return lost ? to_int(ExitCode::lost) : code;
  }

  Candidate& candidate_;
  MutexContendService& service_;
  Signals& signals_;
  const std::chrono::milliseconds kill_after_;
  const OnLoss on_loss_;
  Output& output_;
  LeaseKeeper keeper_;
  const std::stop_token lost_;
  bool started_ = false;
  bool told_loss_ = false;
  bool ending_ = false;
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
    run->footer(
        R"(Waits for the mutex, runs CMD in its own process group, releases the mutex once the whole group
has ended, and exits with CMD's exit code. Signals are passed on to the group. CMD never outlives
the lock, even if simba is killed. CMD's environment has SIMBA_MUTEX, SIMBA_CONTENDER_ID and
SIMBA_FENCING_TOKEN. The output of --json goes to standard error: standard output is CMD's.

Examples:
  simba run -b postgresql://app@db/app -m nightly -- pg_dump -f dump.sql app
  simba run -b redis://10.0.0.5 -m nightly --timeout 0 -- ./job || echo "already running elsewhere"
  simba run -b redis://10.0.0.5 -m deploy --timeout 30s -- sh -c './build && ./deploy'
)");
    return run;
  }

  bool takes_words() const noexcept override { return true; }
  int run(const Invocation& invocation, Output& output) override {
    const std::string& mutex = invocation.options.need_mutex();
    if (invocation.words.empty()) {
      throw UsageError{"missing CMD; put it after \"--\": simba run -m " + mutex + " -- CMD"};
    }
    Patience patience;
    if (timeout_) patience.limit = parse_duration(*timeout_, "--timeout");

    Signals signals{Signals::Orphans::reaped};  // before any thread
    const Store store{invocation.options, output};
    Candidate candidate{mutex, invocation.options.contender_id(), store.log()};
    const auto service = store.factory().create_mutex_contend_service(
        candidate, {.after_loss = AfterLoss::stay_out});
    service->start();
    const int code = run_under(invocation, candidate, *service, signals, patience, store, output);
    if (!candidate.news().duplicate_id) return code;
    const auto failure = to_failure(duplicate_id_error(candidate.contender_id()));
    if (code == to_int(ExitCode::lost)) throw Failure{failure};
    output.note(failure.what(), {{"event", "duplicate_id"},
                                 {"mutex", candidate.mutex()},
                                 {"contender_id", candidate.contender_id()}});
    return code;
  }

 private:
  int run_under(const Invocation& invocation, Candidate& candidate, MutexContendService& service,
                Signals& signals, const Patience& patience, const Store& store,
                Output& output) const {
    // Whatever happens: first the end of the use, then the release.
    struct Closing {
      Candidate& candidate;
      MutexContendService& service;
      ~Closing() {
        candidate.end_use();
        service.close();
      }
    } const closing{candidate, service};
    if (const auto code = wait_for_mutex(candidate, signals, patience, output)) return *code;
    const auto on_loss = on_loss_ == "continue" ? OnLoss::proceed : OnLoss::terminate;
    return Run{invocation, candidate, service, signals, store.plan(), on_loss, output}.until_end();
  }

  std::optional<std::string> timeout_;
  std::string on_loss_ = "terminate";
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace simba::cli
