// simba release: takes a mutex from its owner.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/output/log.hpp"
#include "cli/output/mutex_entry.hpp"
#include "cli/output/printable.hpp"
#include "cli/store.hpp"

namespace simba::cli {
namespace {

class ReleaseCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* command = app.add_subcommand("release", "Take a mutex away from its owner by force");
    command->add_flag("--force", force_, "Confirm that there may be two owners for a while");
    command->footer(
        R"(The owner, if alive, notices at its next renewal or sooner. Until then both it
and the next owner may believe that they own the mutex; only fencing tokens tell
them apart.

Example:
  simba release -b redis://10.0.0.5 -m backup --force)");
    return command;
  }

  int run(const Invocation& invocation, Output& output) override {
    const auto& options = invocation.options;
    const std::string& mutex = options.need_mutex();
    if (!force_) {
      throw UsageError{fmt::format(
          "releasing mutex \"{}\" may result in two owners until its owner notices; add --force if "
          "that is acceptable",
          printable(mutex))};
    }
    const auto admin = make_admin(options, options.load(), make_command_runtime(options.verbosity));
    const auto before = admin->evict(mutex);
    const bool owned = !before.owner_id.empty();
    const std::string text =
        owned ? fmt::format("released \"{}\", which was owned by {} (fencing token {})",
                            printable(mutex), owner_text(before.owner_id), before.fencing_token)
              : fmt::format("\"{}\" was already free", printable(mutex));
    output.result(text, {{"event", owned ? "released" : "free"},
                         {"mutex", mutex},
                         {"owner", owner_json(before.owner_id)},
                         {"token", before.fencing_token}});
    return to_int(ExitCode::success);
  }

 private:
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_release_command() { return std::make_unique<ReleaseCommand>(); }

}  // namespace simba::cli
