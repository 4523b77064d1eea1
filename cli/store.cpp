#include "cli/store.hpp"

#include <fmt/format.h>

#include "cli/child/lease_keeper.hpp"
#include "cli/errors.hpp"
#include "cli/output/log.hpp"

namespace simba::cli {
namespace {

config::Configuration configuration_of(const CommonOptions& options,
                                       std::chrono::milliseconds drain) {
  auto configuration = options.load();
  if (configuration.store() == "memory") {
    throw Failure{
        ExitCode::configuration,
        "memory: lives inside one process, so it cannot exclude other processes; choose a "
        "shared store, for example -b sqlite:/var/lib/app/simba.db"};
  }
  if (const auto problem = margin_problem(configuration.plan())) {
    throw Failure{ExitCode::configuration, *problem};
  }
  if (configuration.plan().drain_limit < drain) {
    configuration.set("drain-limit", fmt::format("{}ms", drain.count()), "--drain");
  }
  // The lock counts as held until the programs that we start are gone, not only we.
  if (configuration.store() == "sqlite") configuration.set("child-processes", "keep-lock", "simba");
  return configuration;
}

Passwords passwords_of(const CommonOptions& options, const config::Configuration& configuration) {
  Passwords passwords{.shared = options.share_passwords};
  for (const auto& value : configuration.values()) {
    if (!value.variable.empty()) passwords.variables.push_back(value.variable);
  }
  return passwords;
}

}  // namespace

Store::Store(const CommonOptions& options, Output& output, LogLevelWithoutVerbose log_level,
             std::chrono::milliseconds drain)
    : Store{options, output, log_level, configuration_of(options, drain)} {
  if (!options.uses_default_store()) return;
  constexpr std::string_view text =
      "no store named: excludes only processes of this user on this host; use -b URL to share a "
      "store between hosts";
  output.note(text, {{"event", "default_store"}, {"message", text}});
}

Store::Store(const CommonOptions& options, Output& output, LogLevelWithoutVerbose log_level,
             const config::Configuration& configuration)
    : plan_{configuration.plan()},
      passwords_{passwords_of(options, configuration)},
      runtime_{make_command_runtime(options.verbosity, log_level == LogLevelWithoutVerbose::warnings
                                                           ? LogLevel::warn
                                                           : LogLevel::error)},
      factory_{configuration.make_factory(runtime_)} {
  for (const auto& value : configuration.values()) {
    if (value.warning.empty()) continue;
    const std::string text = fmt::format("{}: {}", value.origin, value.warning);
    output.note(text, {{"event", "unsafe_setting"}, {"message", text}});
  }
}

ScheduleRecords Store::schedule_records(std::chrono::nanoseconds timeout) const {
  return ScheduleRecords{factory_->records(), runtime_, timeout};
}

std::unique_ptr<engine::StoreAdmin> make_admin(const CommonOptions& options,
                                               const config::Configuration& configuration,
                                               const std::shared_ptr<const Runtime>& runtime) {
  auto admin = configuration.make_admin(runtime);
  if (!options.uses_default_store()) admin->check_exists();
  return admin;
}

ScheduleRecords schedule_records_of(const CommonOptions& options, Output& output) {
  make_admin(options, options.load(), make_command_runtime(options.verbosity));
  return Store{options, output}.schedule_records();
}

}  // namespace simba::cli
