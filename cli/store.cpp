#include "cli/store.hpp"

#include "cli/log.hpp"

namespace simba::cli {
namespace {

config::Configuration configuration_of(const CommonOptions& options) {
  auto configuration = options.load();
  // The lock counts as held until the programs that we start are gone, not only we.
  if (configuration.store() == "sqlite") configuration.set("children", "count", "simba");
  return configuration;
}

}  // namespace

Store::Store(const CommonOptions& options, Talk talk)
    : Store{options, talk, configuration_of(options)} {}

Store::Store(const CommonOptions& options, Talk talk, const config::Configuration& configuration)
    : plan_{configuration.plan()},
      runtime_{make_command_runtime(options.verbosity,
                                    talk == Talk::warnings ? LogLevel::warn : LogLevel::error)},
      factory_{configuration.make_factory(runtime_)} {}

}  // namespace simba::cli
