#pragma once

#include <stop_token>
#include <string>

#include "simba/schedule/abstract_scheduler.hpp"

namespace simba {

/// A scheduler whose work is a function. The function lives until its last run has ended, even when
/// the scheduler is gone by then.
class Scheduler final : public AbstractScheduler {
 public:
  /// Throws InvalidArgumentError where the store cannot take the names, the config is wrong or the
  /// work is empty.
  Scheduler(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config,
            Work work, SchedulerOptions options = {});
  ~Scheduler() override;

 private:
  void work(std::stop_token stop) override;  // not called: the runs hold the function themselves
};

}  // namespace simba
