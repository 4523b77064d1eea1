#include "engine/retry.hpp"

#include <algorithm>
#include <string>

namespace simba::engine {

std::chrono::nanoseconds retry_pause(int failures, const ContentionPlan& plan, Random& random) {
  std::chrono::nanoseconds pause = plan.retry_min;
  for (int i = 1; i < failures && pause < plan.retry_max; ++i) pause *= 2;
  pause = std::min<std::chrono::nanoseconds>(pause, plan.retry_max);
  return random.between(pause / 2, pause);
}

Error no_answer(std::string_view request, const ContentionPlan& plan) {
  return Error{ErrorKind::timeout, "the store did not answer " + std::string{request} + " within " +
                                       std::to_string(plan.request_timeout.count()) + " ms"};
}

}  // namespace simba::engine
