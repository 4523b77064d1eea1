#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/clock.hpp"
#include "simba/testkit/store_contract.hpp"

namespace simba::testkit::detail {

/// What all tests of one store share.
///
/// Threads: used by the thread that runs the tests.
struct ContractRun {
  const std::string& location();

  StoreUnderTest store;
  std::string program;  ///< empty: no processes can be started
  std::map<Capability, int> skipped;

 private:
  bool is_set_up_ = false;
  std::string location_;
};

/// A factory whose way to the store a test cuts, and which is mended at the end of the test.
class Cuttable {
 public:
  explicit Cuttable(CuttableFactory factory) : factory_{std::move(factory)} {}
  ~Cuttable() { mend(); }

  Cuttable(const Cuttable&) = delete;
  Cuttable& operator=(const Cuttable&) = delete;

  MutexServiceFactory& operator*() const { return *factory_.factory; }
  void cut() const { factory_.cut(); }
  void mend() const { factory_.mend(); }

 private:
  const CuttableFactory factory_;
};

/// What one test gets: names and factories of its own, leases, and patience.
///
/// Threads: every function but `factory` and `cuttable_factory` may be called from any thread.
class Contract {
 public:
  Contract(ContractRun& run, std::string test_name);

  const StoreUnderTest& store() const noexcept { return run_.store; }
  bool has(Capability capability) const;
  const std::string& location() const { return run_.location(); }
  const std::string& program() const { return run_.program; }

  /// A mutex name that nobody has used, of ASCII letters, digits and dashes.
  std::string fresh_name() const;

  /// A lease that ends soon, for tests that wait for that.
  ContentionOptions short_lease() const;
  /// A longer one, whose bounds leave a busy machine more time.
  ContentionOptions clear_lease() const;
  /// A lease that does not end by itself while a test lasts.
  ContentionOptions calm_lease() const;

  std::unique_ptr<MutexServiceFactory> factory(const ContentionOptions& options) const;
  std::unique_ptr<MutexServiceFactory> factory() const { return factory(calm_lease()); }
  Cuttable cuttable_factory(const ContentionOptions& options) const;

  LocalTime now() const { return clock_->now(); }

  template <class Rep, class Period>
  std::chrono::nanoseconds scaled(std::chrono::duration<Rep, Period> span) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(span * scale());
  }

  /// How long to wait for what must come; far beyond every bound.
  std::chrono::nanoseconds patience() const { return scaled(std::chrono::seconds{15}); }
  std::chrono::nanoseconds hand_over() const { return scaled(store().hand_over); }
  /// What a busy machine may take on top of a bound: a stall of it fails no test.
  std::chrono::nanoseconds stall() const { return scaled(std::chrono::seconds{1}); }
  /// From the crash of an owner to the next one, at worst.
  std::chrono::nanoseconds take_over(const ContentionOptions& options) const {
    return worst_cases(ContentionPlan{options}).take_over + scaled(store().end_of_lease);
  }

  /// Waits until `condition` holds and says whether it does. Looks each millisecond; a pause in
  /// which the machine lets us wait for longer counts as no more than that.
  bool eventually(const std::function<bool()>& condition) const {
    return within(patience(), condition);
  }
  bool within(std::chrono::nanoseconds span, const std::function<bool()>& condition) const;

 private:
  double scale() const;
  double lease_scale() const;
  ContentionOptions lease(int factor) const;

  ContractRun& run_;
  const std::string test_name_;
  const std::shared_ptr<const Clock> clock_;
};

/// A lease as the store counts it, from its beginning to the moment others may acquire.
inline std::chrono::nanoseconds length(const ContentionOptions& options) {
  return options.ttl + options.transition;
}

/// Begins the message of a violated safety rule: two owners, a token that does not grow, a lost
/// update, a callback after stop. Whoever runs tests can tell these from failures that mere lack of
/// time brings about.
inline constexpr const char* safety_violation = "SAFETY-VIOLATION: ";

/// Whether the token of a later ownership is greater than that of an earlier one. A token of 0 is
/// none: who has it has not got the mutex, for whatever reason.
inline testing::AssertionResult grows(FencingToken before, FencingToken after) {
  if (after > before) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << (after == 0 ? "" : safety_violation) << "token " << after << " after token " << before;
}

struct ContractCase {
  using Body = void (*)(Contract&);

  ContractCase(const char* sentence, Body run, std::vector<Capability> capabilities = {},
               std::source_location where = std::source_location::current())
      : name{sentence}, body{run}, needs{std::move(capabilities)}, location{where} {}

  const char* name;
  Body body;
  std::vector<Capability> needs;
  std::source_location location;
};

using ContractCases = std::vector<ContractCase>;

// The contract, by theme.
ContractCases port_cases();
ContractCases ownership_cases();
ContractCases life_cases();
ContractCases exclusion_cases();
ContractCases hand_over_cases();
ContractCases crash_cases();
ContractCases outage_cases();
ContractCases observer_cases();
ContractCases callback_cases();
ContractCases locker_cases();
ContractCases client_cases();
ContractCases scheduler_cases();
ContractCases name_cases();
ContractCases size_cases();
ContractCases process_cases();
ContractCases identity_cases();
ContractCases record_cases();

}  // namespace simba::testkit::detail
