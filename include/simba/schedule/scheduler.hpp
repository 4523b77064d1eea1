#pragma once

#include <stop_token>
#include <string>

#include "simba/schedule/abstract_scheduler.hpp"

namespace simba {

/// A scheduler whose work is a function. The function lives until its last run has ended, even if
/// the scheduler has been destroyed by then.
class Scheduler final : public AbstractScheduler {
 public:
  /// Throws InvalidArgumentError if the store does not accept the names, the config is invalid or
  /// the work is empty, and Error of kind `unsupported` if the config shares slots and the store
  /// keeps no records.
  Scheduler(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config,
            Work work, SchedulerOptions options = {});

  /// The same for work that is told more of its run.
  Scheduler(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config,
            simba::Work work, SchedulerOptions options = {});
  ~Scheduler() override;

 private:
  friend class Client;

  Scheduler(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config,
            simba::Work work, SchedulerOptions options, Hooks hooks);

  void work(std::stop_token stop) override;  // not called: the runs hold the function themselves
};

}  // namespace simba
