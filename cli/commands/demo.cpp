// simba demo: an election among several processes, to be watched.
#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/child/signals.hpp"
#include "cli/command.hpp"
#include "cli/demo/candidate_process.hpp"
#include "cli/demo/stage.hpp"
#include "cli/demo/view.hpp"
#include "cli/errors.hpp"
#include "cli/terminal/times.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::array actors{"ann", "ben", "cleo", "dan"};
constexpr milliseconds scene_length{1'700};

double to_milliseconds(std::chrono::nanoseconds span) {
  return std::chrono::duration<double, std::milli>{span}.count();
}

std::string precise(std::chrono::nanoseconds span) {
  const double count = to_milliseconds(span);
  return count < 1'000 ? fmt::format("{:.1f} ms", count) : fmt::format("{:.2f} s", count / 1'000);
}

/// A new folder among the temporary ones, which vanishes with this object.
class Folder {
 public:
  /// Throws Failure.
  Folder() : path_{std::filesystem::temp_directory_path() / "simba-demo-XXXXXX"} {
    std::string name = path_.string();
    if (::mkdtemp(name.data()) == nullptr) {
      const std::error_code error{errno, std::generic_category()};
      throw Failure{ExitCode::refused, fmt::format("cannot make a folder in {}: {}; set TMPDIR",
                                                   path_.parent_path().string(), error.message())};
    }
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// The play, scene by scene.
class Play {
 public:
  Play(const demo::StoreSetting& setting, Signals& signals, Output& output)
      : output_{output},
        view_{output},
        plan_{demo::to_configuration(setting).plan()},
        take_over_bound_{engine::worst_cases(plan_).take_over},
        stage_{setting, signals, view_} {}

  /// Returns the exit code. Throws Interrupted and Failure.
  int run() {
    for (const auto* name : actors) stage_.start(name);
    stage_.await_leader();
    stage_.linger(scene_length);
    hand_over();
    kill();
    freeze();
    view_.finish();
    return summary();
  }

 private:
  /// The scene: something is done to the leader; how long until another leads?
  std::optional<std::chrono::nanoseconds> act(const std::string& name, int signal,
                                              std::string_view what, milliseconds limit) {
    view_.tell(view_.palette().paint(Colour::bold, fmt::format("{} {}", name, what)),
               {{"event", "act"}, {"candidate", name}, {"signal", signal}});
    const LocalTime begin = stage_.send(name, signal);
    const auto next = stage_.await_successor(name, limit);
    if (!next) return std::nullopt;
    return next->at - begin;
  }

  std::chrono::nanoseconds surely(std::optional<std::chrono::nanoseconds> span) const {
    if (span) return *span;
    throw Failure{ExitCode::internal,
                  fmt::format("nobody took over within {}", to_text(most_patience))};
  }

  void hand_over() {
    const std::string name = stage_.await_leader();
    hand_over_ =
        surely(act(name, SIGTERM, "is told to stop (SIGTERM) and hands over", most_patience));
    tell_time("the hand-over took", hand_over_);
    stage_.linger(scene_length / 2);
    stage_.start(name);
    stage_.linger(scene_length / 2);
  }

  void kill() {
    const std::string name = stage_.await_leader();
    kill_ = surely(act(name, SIGKILL, "is killed (kill -9)", most_patience));
    tell_time("the take-over took", kill_);
    stage_.linger(scene_length / 2);
    stage_.start(name);
    stage_.linger(scene_length / 2);
  }

  void freeze() {
    const std::string name = stage_.await_leader();
    const auto span = act(name, SIGSTOP, "is frozen (SIGSTOP), so its lease must expire",
                          2 * std::chrono::ceil<milliseconds>(take_over_bound_));
    freeze_ = span;
    if (span) tell_time("the take-over took", *span);
    stage_.linger(scene_length / 2);
    view_.tell(fmt::format("{} resumes (SIGCONT) and finds that it is no longer leader", name),
               {{"event", "act"}, {"candidate", name}, {"signal", SIGCONT}});
    stage_.send(name, SIGCONT);
    if (!span) stage_.await_leader();
    stage_.linger(scene_length);
  }

  void tell_time(std::string_view what, std::chrono::nanoseconds span) {
    view_.tell(fmt::format("{} {}", what, precise(span)),
               {{"event", "timed"}, {"took_ms", to_milliseconds(span)}});
  }

  int summary() {
    const auto& faults = stage_.faults();
    const std::string frozen = freeze_ ? precise(*freeze_) : "delayed: it froze during a write";
    output_.result(
        fmt::format(
            "\nhand-over, graceful         {}\n"
            "take-over after kill -9     {} (SQLite notices immediately that a process ended;\n"
            "                            between hosts: {})\n"
            "take-over from a frozen one {} ({})\n"
            "{} leaders, {}",
            precise(hand_over_), precise(kill_), at_most(take_over_bound_), frozen,
            at_most(take_over_bound_), stage_.leaders_seen(),
            faults.empty() ? "never two at a time, each fencing token above the last"
                           : fmt::format("{}", fmt::join(faults, "; "))),
        {{"event", "summary"},
         {"hand_over_ms", to_milliseconds(hand_over_)},
         {"kill_take_over_ms", to_milliseconds(kill_)},
         {"freeze_take_over_ms", freeze_ ? Json(to_milliseconds(*freeze_)) : Json(nullptr)},
         {"take_over_bound_ms", to_milliseconds(take_over_bound_)},
         {"leaders", stage_.leaders_seen()},
         {"faults", faults}});
    return to_int(faults.empty() ? ExitCode::success : ExitCode::internal);
  }

  static constexpr milliseconds most_patience{30'000};

  Output& output_;
  demo::View view_;
  const engine::ContentionPlan plan_;
  const std::chrono::nanoseconds take_over_bound_;
  demo::Stage stage_;
  std::chrono::nanoseconds hand_over_{};
  std::chrono::nanoseconds kill_{};
  std::optional<std::chrono::nanoseconds> freeze_{};  // empty: it froze inside a transaction
};

class DemoCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* command = app.add_subcommand("demo", "Watch processes elect a leader and take over");
    command->footer(
        R"(Starts four candidates on a temporary SQLite database. Their leader hands over,
the next one is killed, the one after that is frozen; each time another takes
over, and the time is measured. Ends by itself after about ten seconds.)");
    candidate_ = command->add_subcommand("candidate", "One of the processes");
    candidate_->group("");  // not for users
    candidate_->add_option("name", name_)->required();
    candidate_->add_option("path", setting_.path)->required();
    candidate_->add_option("ttl", setting_.ttl)->required();
    candidate_->add_option("transition", setting_.transition)->required();
    return command;
  }

  int run(const Invocation& invocation, Output& output) override {
    const auto& options = invocation.options;
    if (candidate_->parsed()) return demo::be_candidate(name_, setting_, options.verbosity);
    if (options.backend || options.config) {
      throw UsageError{"demo uses its own store; leave out --backend and --config"};
    }
    Signals signals;
    const Folder folder;
    const demo::StoreSetting setting{.path = (folder.path() / "simba.db").string(),
                                     .ttl = options.ttl.value_or("1200ms"),
                                     .transition = options.transition.value_or("800ms")};
    try {
      return Play{setting, signals, output}.run();
    } catch (const demo::Interrupted& interrupted) {
      return exit_code_of_signal(interrupted.signal);
    }
  }

 private:
  CLI::App* candidate_ = nullptr;
  std::string name_;
  demo::StoreSetting setting_;
};

}  // namespace

std::unique_ptr<Command> make_demo_command() { return std::make_unique<DemoCommand>(); }

}  // namespace simba::cli
