#include "cli/child/lease_keeper.hpp"

#include <algorithm>

#include "simba/core/clock.hpp"

namespace simba::cli {

using std::chrono::milliseconds;

milliseconds kill_after(const engine::ContentionPlan& plan) noexcept {
  return std::max(plan.margin * 6 / 10, milliseconds{1});
}

std::vector<std::pair<std::string, std::string>> variables_of(const MutexContendService& service) {
  return {{"SIMBA_MUTEX", service.contender().mutex()},
          {"SIMBA_CONTENDER_ID", service.contender_id()},
          {"SIMBA_FENCING_TOKEN", std::to_string(service.fencing_token())}};
}

LocalTime LeaseKeeper::lease_end() { return known_ = std::max(known_, service_.lease_until()); }

milliseconds until_next_look(LocalTime lease_end) {
  const auto left = std::chrono::ceil<milliseconds>(lease_end - make_system_clock()->now());
  return std::clamp(left / 2, milliseconds{1}, milliseconds{60'000});
}

}  // namespace simba::cli
