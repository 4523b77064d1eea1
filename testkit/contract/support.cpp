#include "testkit/contract/support.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <unistd.h>

namespace simba::testkit::detail {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

double environment_scale(const char* variable) {
  const char* value = std::getenv(variable);
  const double scale = value != nullptr ? std::strtod(value, nullptr) : 1.0;
  return scale > 0 ? scale : 1.0;
}

}  // namespace

const std::string& ContractRun::location() {
  if (!is_set_up_) {
    if (store.set_up) {
      location_ = store.set_up();
    }
    is_set_up_ = true;
  }
  return location_;
}

Contract::Contract(ContractRun& run, std::string test_name)
    : run_{run}, test_name_{std::move(test_name)}, clock_{make_system_clock()} {
  run_.location();
}

bool Contract::has(Capability capability) const {
  return store().capabilities.contains(capability);
}

std::string Contract::fresh_name() const {
  static std::atomic<unsigned> counter{0};
  // The random part tells apart processes that had the same id, on a store that outlives them.
  const std::string suffix = "-" + std::to_string(getpid()) + "-" + std::to_string(counter++) +
                             "-" + std::to_string(std::random_device{}() % 100'000);
  const std::size_t room = std::min<std::size_t>(store().name_limits.mutex, 48) - suffix.size();
  return test_name_.substr(0, room) + suffix;
}

double Contract::scale() const {
  static const double from_environment = environment_scale("SIMBA_TEST_SCALE");
  return store().scale * from_environment;
}

double Contract::lease_scale() const {
  static const double from_environment = environment_scale("SIMBA_TEST_LEASE_SCALE");
  return store().scale * from_environment;
}

ContentionOptions Contract::lease(int factor) const {
  const auto scaled_ms = [&](milliseconds span) {
    return std::chrono::duration_cast<milliseconds>(span * lease_scale());
  };
  ContentionOptions options;
  options.ttl = scaled_ms(store().ttl * factor);
  options.transition = scaled_ms(store().transition * factor);
  options.jitter = {scaled_ms(store().jitter.low), scaled_ms(store().jitter.high)};
  return options;
}

ContentionOptions Contract::short_lease() const { return lease(1); }

ContentionOptions Contract::clear_lease() const { return lease(3); }

ContentionOptions Contract::calm_lease() const {
  return lease(has(Capability::prompt_hand_over) ? 8 : 1);
}

std::unique_ptr<MutexServiceFactory> Contract::factory(const ContentionOptions& options) const {
  return store().make_factory(location(), options);
}

Cuttable Contract::cuttable_factory(const ContentionOptions& options) const {
  return Cuttable{store().make_cuttable_factory(location(), options)};
}

bool Contract::within(nanoseconds span, const std::function<bool()>& condition) const {
  constexpr milliseconds pause{1};
  for (nanoseconds left = span;;) {
    const LocalTime begin = now();
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

}  // namespace simba::testkit::detail
