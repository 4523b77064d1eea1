#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/runtime.hpp"
#include "simba/schedule/run.hpp"
#include "simba/schedule/schedule_records.hpp"

namespace simba::chaos {

/// Looks again and again at what a store remembers of schedules, which forgets old runs.
///
/// Threads: used by one at a time.
class SlotWatch {
 public:
  /// Throws as `make_factory`.
  SlotWatch(const std::string& url, std::vector<std::string> schedules);

  struct Seen {
    std::vector<RunReport> history{};       ///< all runs that have ended
    std::optional<SystemTime> last_slot{};  ///< at the last look
  };

  /// Looks a last time and ends. One for each schedule, in their order. Throws if the store does
  /// not answer.
  std::vector<Seen> finish();

 private:
  void look();

  const std::vector<std::string> schedules_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::shared_ptr<MutexServiceFactory> factory_;
  const ScheduleRecords records_;
  std::vector<Seen> seen_;  // this and the next are of the thread, until that has ended
  std::set<std::tuple<std::size_t, std::uint64_t, int, RunOutcome, FencingToken>> known_;
  std::jthread thread_;
};

}  // namespace simba::chaos
