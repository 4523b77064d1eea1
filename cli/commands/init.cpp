// simba init: creates what a store needs.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/output/log.hpp"

namespace simba::cli {
namespace {

class InitCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* command = app.add_subcommand("init", "Create what the store needs, such as its table");
    command->footer(R"(Leaves what already exists unchanged, so it is safe to run again.

Example:
  simba init -b postgresql://owner@db/app)");
    return command;
  }

  int run(const Invocation& invocation, Output& output) override {
    const auto& options = invocation.options;
    const auto configuration = options.load();
    const auto admin = configuration.make_admin(make_command_runtime(options.verbosity));
    const std::string done = admin->init();
    const std::string store = configuration.description();
    output.result(printable_lines(fmt::format("{}: {}", store, done)),
                  {{"event", "init"}, {"store", store}, {"message", done}});
    return to_int(ExitCode::success);
  }
};

}  // namespace

std::unique_ptr<Command> make_init_command() { return std::make_unique<InitCommand>(); }

}  // namespace simba::cli
