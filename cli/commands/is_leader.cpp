// simba is-leader: an exit code for scripts.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/output/log.hpp"
#include "cli/output/mutex_entry.hpp"
#include "cli/output/printable.hpp"
#include "cli/store.hpp"
#include "core/host_address.hpp"

namespace simba::cli {
namespace {

/// Whether the id was made on a host with that address: "0:4711@10.0.0.7-0f3c...", or without the
/// mark at its end, as the JVM library has it.
bool is_made_at(std::string_view id, std::string_view address) {
  const auto at = id.rfind('@');
  if (at == std::string_view::npos) return false;
  const std::string_view rest = id.substr(at + 1);
  return rest == address || (rest.starts_with(address) && rest[address.size()] == '-');
}

class IsLeaderCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* command = app.add_subcommand(
        "is-leader", "Tell by the exit code whether this host, or --id, owns a mutex");
    command->footer(
        R"(Exits with 0 if the owner of the mutex in the store is a contender of this host, and with 1 if it
is not. Prints nothing, so that it is quiet in cron; with --json an object. With --id the owner must
be exactly that contender; without it an id counts that simba has made on this host, which is told
by the address in it: containers that share an address are one host. Whoever gives contenders ids of
their own gives --id here, too. If the store does not answer, the exit code is 69, so that a job
does not run.
The answer is what the store knew a moment ago, and an owner that has died still counts until its
lease is over. If two runs at once do harm, use "simba run" instead.

Examples:
  0 3 * * *  simba is-leader -b redis://10.0.0.5 -m leader && ./job     in crontab(5)
  simba is-leader -b redis://10.0.0.5 -m leader --id web1 || exit 0)");
    return command;
  }

  int run(const Invocation& invocation, Output& output) override {
    const auto& options = invocation.options;
    const std::string& mutex = options.need_mutex();
    const auto admin = make_admin(options, options.load(), make_command_runtime(options.verbosity));
    const engine::MutexEntry entry = admin->find(mutex);
    const std::string& owner = entry.owner_id;
    const bool leads = !owner.empty() && (options.id ? owner == *options.id
                                                     : is_made_at(owner, detail::host_address()));
    if (output.json()) {
      output.result({}, {{"mutex", mutex},
                         {"leads", leads},
                         {"owner", owner_json(owner)},
                         {"fencing_token", entry.fencing_token}});
    }
    return to_int(leads ? ExitCode::success : ExitCode::not_leader);
  }
};

}  // namespace

std::unique_ptr<Command> make_is_leader_command() { return std::make_unique<IsLeaderCommand>(); }

}  // namespace simba::cli
