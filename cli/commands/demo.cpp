// simba demo: an election among several processes, to be watched.
#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/child/signals.hpp"
#include "cli/command.hpp"
#include "cli/demo/election.hpp"
#include "cli/demo/view.hpp"
#include "cli/errors.hpp"
#include "cli/output/times.hpp"
#include "simba/config/configuration.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::array candidates{"ann", "ben", "cleo", "dan"};
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
      throw Failure{ExitCode::refused,
                    fmt::format("cannot create a directory in {}: {}; set TMPDIR",
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

/// Settings of other stores are not for the candidates.
void ignore_environment() {
  std::vector<std::string> names;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("SIMBA_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  for (const auto& name : names) ::unsetenv(name.c_str());
}

/// Where the candidates meet: a database in the folder that they run in.
constexpr const char* demo_store = "sqlite:simba.db";
constexpr const char* demo_mutex = "demo";

struct Times {
  std::string ttl{};
  std::string transition{};

  /// Throws Error, of kind `unsupported` where SQLite was not built in.
  ContentionPlan plan() const {
    auto configuration = config::Configuration::from_url(demo_store);
    configuration.set("ttl", ttl, "--ttl");
    configuration.set("transition", transition, "--transition");
    return configuration.plan();
  }
};

/// The demonstration, scene by scene.
class Demo {
 public:
  Demo(const Times& times, const std::string& folder, Signals& signals, Output& output)
      : output_{output},
        view_{output},
        take_over_bound_{simba::worst_cases(times.plan()).take_over},
        election_{folder,
                  {"-b", demo_store, "-m", demo_mutex, "--ttl", times.ttl, "--transition",
                   times.transition},
                  signals,
                  view_} {}

  /// Returns the exit code. Throws Interrupted and Failure.
  int run() {
    const std::string command =
        fmt::format("simba elect -b {} -m {} --id NAME", demo_store, demo_mutex);
    view_.tell("each candidate: " + command, {{"event", "command"}, {"command", command}});
    for (const auto* name : candidates) election_.start(name);
    election_.await_leader();
    election_.linger(scene_length);
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
    const LocalTime begin = election_.send(name, signal);
    const auto next = election_.await_successor(name, limit);
    if (!next) return std::nullopt;
    return *next - begin;
  }

  std::chrono::nanoseconds surely(std::optional<std::chrono::nanoseconds> span) const {
    if (span) return *span;
    throw Failure{ExitCode::internal,
                  fmt::format("nobody took over within {}", to_text(most_patience))};
  }

  void hand_over() {
    const std::string name = election_.await_leader();
    hand_over_ =
        surely(act(name, SIGTERM, "is told to stop (SIGTERM) and hands over", most_patience));
    tell_time("the hand-over took", hand_over_);
    election_.linger(scene_length / 2);
    election_.start(name);
    election_.linger(scene_length / 2);
  }

  void kill() {
    const std::string name = election_.await_leader();
    kill_ = surely(act(name, SIGKILL, "is killed (kill -9)", most_patience));
    tell_time("the take-over took", kill_);
    election_.linger(scene_length / 2);
    election_.start(name);
    election_.linger(scene_length / 2);
  }

  void freeze() {
    const std::string name = election_.await_leader();
    const auto span = act(name, SIGSTOP, "is frozen (SIGSTOP), so its lease must expire",
                          2 * std::chrono::ceil<milliseconds>(take_over_bound_));
    freeze_ = span;
    if (span) tell_time("the take-over took", *span);
    election_.linger(scene_length / 2);
    view_.tell(fmt::format("{} resumes (SIGCONT) and finds that it is no longer leader", name),
               {{"event", "act"}, {"candidate", name}, {"signal", SIGCONT}});
    election_.send(name, SIGCONT);
    if (!span) election_.await_leader();
    election_.linger(scene_length);
  }

  void tell_time(std::string_view what, std::chrono::nanoseconds span) {
    view_.tell(fmt::format("{} {}", what, precise(span)),
               {{"event", "timed"}, {"took_ms", to_milliseconds(span)}});
  }

  int summary() {
    const auto& faults = election_.faults();
    const std::string frozen = freeze_ ? precise(*freeze_) : "delayed: it froze during a write";
    output_.result(
        fmt::format(
            "\nhand-over, graceful         {}\n"
            "take-over after kill -9     {} (SQLite notices immediately that a process ended;\n"
            "                            between hosts: {})\n"
            "take-over from a frozen one {} ({})\n"
            "{} leaders, {}",
            precise(hand_over_), precise(kill_), at_most(take_over_bound_), frozen,
            at_most(take_over_bound_), election_.leaders_seen(),
            faults.empty() ? "never two at a time, each fencing token above the last"
                           : fmt::format("{}", fmt::join(faults, "; "))),
        {{"event", "summary"},
         {"hand_over_ms", to_milliseconds(hand_over_)},
         {"kill_take_over_ms", to_milliseconds(kill_)},
         {"freeze_take_over_ms", freeze_ ? Json(to_milliseconds(*freeze_)) : Json(nullptr)},
         {"take_over_bound_ms", to_milliseconds(take_over_bound_)},
         {"leaders", election_.leaders_seen()},
         {"faults", faults}});
    return to_int(faults.empty() ? ExitCode::success : ExitCode::internal);
  }

  static constexpr milliseconds most_patience{30'000};

  Output& output_;
  demo::View view_;
  const std::chrono::nanoseconds take_over_bound_;
  demo::Election election_;
  std::chrono::nanoseconds hand_over_{};
  std::chrono::nanoseconds kill_{};
  std::optional<std::chrono::nanoseconds> freeze_{};  // empty: it froze inside a transaction
};

class DemoCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* command = app.add_subcommand("demo", "Watch processes elect a leader and take over");
    command->footer(
        R"(Starts simba elect four times, on a temporary SQLite database. The leader hands over,
the next one is killed, the one after that is frozen; each time another takes
over, and the time is measured. Ends by itself after about ten seconds.)");
    return command;
  }

  int run(const Invocation& invocation, Output& output) override {
    const auto& options = invocation.options;
    if (options.backend || options.config) {
      throw UsageError{"demo uses its own store; leave out --backend and --config"};
    }
    ignore_environment();
    Signals signals;
    const Folder folder;
    const Times times{.ttl = options.ttl.value_or("1200ms"),
                      .transition = options.transition.value_or("800ms")};
    try {
      return Demo{times, folder.path().string(), signals, output}.run();
    } catch (const demo::Interrupted& interrupted) {
      return exit_code_of_signal(interrupted.signal);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_demo_command() { return std::make_unique<DemoCommand>(); }

}  // namespace simba::cli
