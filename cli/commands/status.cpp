// simba status: which mutexes there are and who owns them.
#include <CLI/CLI.hpp>
#include <vector>

#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/output/log.hpp"
#include "cli/output/mutex_entry.hpp"
#include "cli/store.hpp"

namespace simba::cli {
namespace {

class StatusCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* command = app.add_subcommand("status", "Show the mutexes of a store and their owners");
    command->footer(
        R"(Shows one mutex with -m, otherwise all mutexes in the store. SINCE is when the
owner acquired it or, if the store has leases, last renewed it. LEFT is the time
until anyone else may acquire it unless it is renewed, or "session": until the
owner's session ends.

Examples:
  simba status -b sqlite:/var/lib/app/simba.db
  simba status -b redis://10.0.0.5 -m deploy --json)");
    return command;
  }

  int run(const Invocation& invocation, Output& output) override {
    const auto& options = invocation.options;
    const auto admin = make_admin(options, options.load(), make_command_runtime(options.verbosity));
    const std::vector<engine::MutexEntry> entries =
        options.mutex ? std::vector{admin->find(*options.mutex)} : admin->list();
    if (output.json()) {
      for (const auto& entry : entries) output.result({}, to_json(entry));
    } else if (entries.empty()) {
      output.note("no mutexes in the store yet", {});
    } else {
      output.result(to_table(entries, Palette{output}), {});
    }
    return to_int(ExitCode::success);
  }
};

}  // namespace

std::unique_ptr<Command> make_status_command() { return std::make_unique<StatusCommand>(); }

}  // namespace simba::cli
