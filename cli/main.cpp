// The simba command. cli/command.hpp says what a subcommand is.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/child/child.hpp"
#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/output/log.hpp"
#include "cli/output/usage.hpp"
#include "simba/version.hpp"

namespace simba::cli {
namespace {

constexpr std::string_view footer = R"(Examples:
  simba run -b sqlite:/var/lib/app/simba.db -m backup -- ./backup    on this host
  simba run -b redis://10.0.0.5 -m deploy --timeout 0 -- ./deploy
  simba schedule -b redis://10.0.0.5 -m cleanup --every 30s -- ./sweep
  simba elect -b redis://10.0.0.5 -m leader --on-acquired ./lead --on-released ./follow

Exit codes: CMD's own; 64 usage; 69 store unavailable; 70 internal; 75 not acquired in time;
76 lost while running; 77 permission or authentication; 78 configuration; 79 not released;
80 terminated after --max-hold; 81 slot not repeated; 128+n signal n.)";

/// What stands before and after the first "--".
struct Arguments {
  std::vector<std::string> ours{};
  std::vector<std::string> words{};
  bool divided = false;
};

Arguments divide(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!arguments.divided && word == "--") {
      arguments.divided = true;
    } else {
      (arguments.divided ? arguments.words : arguments.ours).emplace_back(word);
    }
  }
  return arguments;
}

/// A subcommand and where the parser keeps it.
struct Entry {
  std::unique_ptr<Command> command{};
  CLI::App* app = nullptr;
};

/// In the order of the help text.
std::vector<Entry> add_commands(CLI::App& app) {
  std::vector<Entry> entries;
  for (const auto make : {
         make_run_command, make_schedule_command, make_elect_command, make_watch_command,
             make_status_command, make_is_leader_command, make_runs_command,
#if SIMBA_HAS_HTTP  // needs a library that may be missing
             make_serve_command,
#endif
             make_release_command, make_init_command, make_doctor_command, make_demo_command
       }) {
    auto command = make();
    CLI::App* added = command->add_to(app);
    entries.push_back({.command = std::move(command), .app = added});
  }
  return entries;
}

/// `command` is empty where there is none.
int usage_error(Output& output, const std::string& message, const std::string& command = {}) {
  const int code = to_int(ExitCode::usage);
  output.error(command.empty() ? message + " (see \"simba --help\")"
                               : message + " (see \"simba " + command + " --help\")",
               code);
  return code;
}

/// A result that could not be written is a failure.
int checked(int code, Output& output) {
  const std::string missing = output.finish();
  if (missing.empty()) return code;
  if (code == to_int(ExitCode::success)) code = to_int(ExitCode::internal);
  output.error(missing, code);
  return code;
}

/// Which store it is, and what to do, where that was not said.
std::string with_advice(const Failure& failure, const CommonOptions& options) {
  std::string text = failure.what();
  if (failure.code() != ExitCode::unavailable || text.find("simba doctor") != std::string::npos) {
    return text;
  }
  try {
    text += " (" + options.load().description() + ")";
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): then without
  }
  return text + "\n  " + std::string{unavailable_advice};
}

int perform(Command& command, const std::string& name, const Invocation& invocation,
            Output& output) {
  const auto fail = [&](ExitCode code, std::string_view message) {
    output.error(message, to_int(code));
    return to_int(code);
  };
  try {
    return command.run(invocation, output);
  } catch (const UsageError& e) {
    return usage_error(output, e.what(), name);
  } catch (const Failure& e) {
    return fail(e.code(), with_advice(e, invocation.options));
  } catch (const Error& e) {
    return fail(exit_code_of(e.kind()), explain(e));
  } catch (const std::exception& e) {
    return fail(ExitCode::internal, e.what());
  }
}

int run_program(int argc, char** argv) {
  Invocation invocation;
  invocation.passed_on = open_descriptors();  // before we open anything
  // A store that goes away is an error, not our end.
  invocation.ignores_pipe = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  Arguments arguments = divide(argc, argv);
  const auto& ours = arguments.ours;
  Output output{std::find(ours.begin(), ours.end(), "--json") != ours.end() ? Output::Form::json
                                                                            : Output::Form::text};
  if (output.json()) log_objects();

  CLI::App app{"Distributed mutual exclusion, leader election and leader-only scheduling", "simba"};
  app.footer(std::string{footer});
  app.set_version_flag("-V,--version", "simba " + std::string{simba::version});
  app.require_subcommand(1);
  app.fallthrough();
  app.formatter(make_help_formatter());
  invocation.options.add_to(app);
  const std::vector<Entry> entries = add_commands(app);

  try {
    std::vector<std::string> reversed{ours.rbegin(), ours.rend()};
    app.parse(reversed);
  } catch (const CLI::CallForVersion& e) {
    output.result(e.what(), {{"version", simba::version}});
    return checked(to_int(ExitCode::success), output);
  } catch (const CLI::Success&) {  // --help
    output.page(app.help());
    return checked(to_int(ExitCode::success), output);
  } catch (const CLI::ParseError& e) {
    const auto begun = app.get_subcommands();
    return usage_error(output, usage_message(app, e), begun.empty() ? "" : begun[0]->get_name());
  }

  const auto chosen = std::find_if(entries.begin(), entries.end(),
                                   [](const Entry& entry) { return entry.app->parsed(); });
  if (chosen == entries.end()) return usage_error(output, "missing command");
  const std::string name = chosen->app->get_name();
  if (arguments.divided && !chosen->command->takes_words()) {
    return usage_error(output, name + " takes no arguments after \"--\"", name);
  }
  invocation.words = std::move(arguments.words);
  if (invocation.options.backend_overrides_config()) {
    const std::string text =
        fmt::format("SIMBA_BACKEND is set and overrides the stores in {}; unset it to use the file",
                    invocation.options.config.value_or(""));
    output.note(text, {{"event", "config_passed_over"}, {"message", text}});
  }
  return checked(perform(*chosen->command, name, invocation, output), output);
}

}  // namespace
}  // namespace simba::cli

int main(int argc, char** argv) {
  try {
    return simba::cli::run_program(argc, argv);
  } catch (...) {  // no memory, most likely
    return simba::cli::to_int(simba::cli::ExitCode::internal);
  }
}
