#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chaos/checking/record.hpp"
#include "chaos/checking/slot_log.hpp"
#include "simba/schedule/run.hpp"
#include "simba/schedule/schedule_config.hpp"

namespace simba::chaos {

/// All that is known of one schedule whose slots are shared.
struct SlotEvidence {
  std::string schedule{};
  ScheduleConfig config{};
  std::vector<SlotEntry> entries{};       ///< what its workers wrote down, in order
  std::vector<RunReport> history{};       ///< all that the store was ever seen to remember
  std::optional<SystemTime> last_slot{};  ///< that the store knows of in the end
};

/// When something wrong is not the library's fault. In nanoseconds of CLOCK_MONOTONIC.
struct SlotExcuses {
  /// A failover may have lost what replicas had not confirmed: how a run ended, or a renewal. That
  /// a run began is confirmed, so that is not lost.
  std::vector<Period> forgotten{};
  std::int64_t longest = 0;     ///< that two runs may overlap then
  std::vector<Period> steps{};  ///< the clock that slots follow may just have been set
};

struct SlotFindings {
  std::uint64_t slots = 0;     ///< begun, by the account of workers or of the store
  std::uint64_t attempts = 0;  ///< that workers have begun
  std::uint64_t failed = 0;    ///< of these: that ended, but not well
  std::uint64_t lost = 0;      ///< runs that ended without a word, by the account of the store
  std::uint64_t missed = 0;    ///< slots between the first and the last one that nobody began
  std::uint64_t refused = 0;   ///< begins by a token that was not the latest
  std::vector<std::string> wrong{};
  std::vector<std::string> excused{};
};

/// Whether each slot happened as `SlotOptions::promise` says. The moments in texts are seconds
/// since `origin`.
SlotFindings check_slots(const SlotEvidence& evidence, const SlotExcuses& excuses,
                         std::int64_t origin);

}  // namespace simba::chaos
