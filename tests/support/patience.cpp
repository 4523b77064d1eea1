#include "support/patience.hpp"

#include <cstdlib>
#include <ctime>
#include <thread>

namespace simba::support {

LocalTime now() {
  timespec ts{};
  ::clock_gettime(CLOCK_BOOTTIME, &ts);
  return LocalTime{std::chrono::seconds{ts.tv_sec} + std::chrono::nanoseconds{ts.tv_nsec}};
}

namespace {

std::chrono::milliseconds scaled_by(const char* variable, std::chrono::milliseconds span) {
  const char* scale = std::getenv(variable);
  const double factor = scale != nullptr ? std::strtod(scale, nullptr) : 1.0;
  return std::chrono::ceil<std::chrono::milliseconds>(span * (factor > 0 ? factor : 1.0));
}

}  // namespace

std::chrono::milliseconds scaled(std::chrono::milliseconds span) {
  return scaled_by("SIMBA_TEST_SCALE", span);
}

std::chrono::milliseconds scaled_lease(std::chrono::milliseconds span) {
  return scaled_by("SIMBA_TEST_LEASE_SCALE", span);
}

bool within(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
  constexpr std::chrono::milliseconds pause{1};
  std::chrono::nanoseconds left = scaled(limit);
  for (;;) {
    const auto begin = now();
    if (condition()) {
      return true;
    }
    left -= now() - begin + pause;
    if (left < pause) {
      return condition();
    }
    std::this_thread::sleep_for(pause);
  }
}

bool eventually(const std::function<bool()>& condition) {
  return within(std::chrono::seconds{30}, condition);
}

}  // namespace simba::support
