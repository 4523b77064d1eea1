#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/common_options.hpp"
#include "cli/output/output.hpp"

namespace simba::cli {

/// What the user asked for, beside the options of the command itself.
struct Invocation {
  CommonOptions options{};
  std::vector<std::string> words{};  ///< after "--": the CMD to run
  bool ignores_pipe = false;         ///< whether SIGPIPE was ignored when we were started
  std::vector<int> passed_on{};      ///< descriptors that we were started with, for CMD; sorted
};

/// One subcommand: a file in cli/commands/, made by a function that cli/main.cpp calls.
///
/// `run` is called at most once, after the options were read, on the main thread while it is the
/// only one. Throws Failure, or Error of the library.
class Command {
 public:
  virtual ~Command() = default;

  /// Adds its subcommand with its own options, description, and examples (`footer`) to `app`, and
  /// returns it.
  virtual CLI::App* add_to(CLI::App& app) = 0;

  /// True where words after "--" belong to it.
  virtual bool takes_words() const noexcept { return false; }

  /// Returns the exit code.
  virtual int run(const Invocation& invocation, Output& output) = 0;
};

// One per file in cli/commands/.
std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_schedule_command();
std::unique_ptr<Command> make_elect_command();
std::unique_ptr<Command> make_watch_command();
std::unique_ptr<Command> make_status_command();
std::unique_ptr<Command> make_runs_command();
std::unique_ptr<Command> make_is_leader_command();
std::unique_ptr<Command> make_release_command();
std::unique_ptr<Command> make_serve_command();
std::unique_ptr<Command> make_init_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_demo_command();

}  // namespace simba::cli
