#pragma once

#include <chrono>
#include <memory>

#include "cli/child/child.hpp"
#include "cli/common_options.hpp"
#include "cli/output/output.hpp"
#include "simba/config/configuration.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/schedule/schedule_records.hpp"

namespace simba::cli {

/// The store of a command that contends, with what it runs on. Nothing is connected yet.
class Store {
 public:
  enum class LogLevelWithoutVerbose {
    errors,    ///< of the library's log only errors are shown unless --verbose says more
    warnings,  ///< also warnings: for commands that run long and keep retrying
  };

  /// Starts threads. `drain`: how long the owner renews at least while it puts things in order
  /// before a release. Throws Error and Failure where the configuration is wrong.
  /// Says so where no store was named, since hosts that seem to exclude each other then do not, and
  /// where a setting is unsafe.
  Store(const CommonOptions& options, Output& output,
        LogLevelWithoutVerbose log_level = LogLevelWithoutVerbose::errors,
        std::chrono::milliseconds drain = {});

  MutexServiceFactory& factory() const noexcept { return *factory_; }
  const ContentionPlan& plan() const noexcept { return plan_; }
  const std::shared_ptr<Logger>& log() const noexcept { return runtime_->log; }

  /// A request that is not answered is sent again within that time. Throws Error of kind
  /// `unsupported` where the store keeps no records.
  ScheduleRecords schedule_records(std::chrono::nanoseconds timeout = std::chrono::seconds{
                                       10}) const;

  /// Which passwords the programs that we start get.
  const Passwords& passwords() const noexcept { return passwords_; }

 private:
  Store(const CommonOptions& options, Output& output, LogLevelWithoutVerbose log_level,
        const config::Configuration& configuration);

  const ContentionPlan plan_;
  const Passwords passwords_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::unique_ptr<MutexServiceFactory> factory_;
};

/// The store for commands that look at it. It must be there, for one that is not looks as if every
/// mutex were free; the default one need not, since nobody can have mistyped it. Throws Error.
std::unique_ptr<engine::StoreAdmin> make_admin(const CommonOptions& options,
                                               const config::Configuration& configuration,
                                               const std::shared_ptr<const Runtime>& runtime);

/// What such commands use of its records. The same goes for the store. Throws Error and Failure.
ScheduleRecords schedule_records_of(const CommonOptions& options, Output& output);

}  // namespace simba::cli
