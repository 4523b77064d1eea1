#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/names.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::testkit {

/// Optional capabilities of a store, beyond the contract that all stores fulfil. Tests that need a
/// capability that the store does not claim are skipped, and the skip is reported.
enum class Capability {
  separate_processes,  ///< contenders of different processes reach the same store
  cut_off,             ///< `make_cuttable_factory` can cut one factory off the store
  prompt_hand_over,    ///< a release reaches a waiter in about `StoreUnderTest::hand_over`
  fair_hand_over,      ///< waiters get the mutex in the order of arrival
  slashes_in_names,    ///< names may contain '/'; without this capability they must be rejected
  exact_names,         ///< names that differ only in case, accents or trailing spaces are different
  duplicate_ids,       ///< of two contenders that use the same id concurrently, one notices
  lease_store,         ///< `make_store` gives the engine::LeaseStore, to be tested by itself
  timed_leases,        ///< leases end by the store's clock, not with a session; and guards and
                       ///< releases of a contender that is not the owner answer with who is
};

/// A description of the capability, e.g. "prompt hand-over".
std::string_view to_string(Capability capability) noexcept;

/// A factory whose connection to the store can be cut: no request gets through, and no answer or
/// notice comes back. To the store this looks like a crash.
struct CuttableFactory {
  std::unique_ptr<MutexServiceFactory> factory;
  std::function<void()> cut;
  std::function<void()> mend;
};

/// Creates such a factory over any lease store.
CuttableFactory make_cuttable_factory(std::shared_ptr<engine::LeaseStore> store,
                                      std::shared_ptr<const Runtime> runtime,
                                      const ContentionOptions& options);

/// A store, and what its contract tests need to know about it.
struct StoreUnderTest {
  using MakeFactory = std::function<std::unique_ptr<MutexServiceFactory>(
      const std::string& location, const ContentionOptions& options)>;
  using MakeStore = std::function<std::shared_ptr<engine::LeaseStore>(
      const std::string& location, const ContentionOptions& options)>;
  using MakeCuttableFactory =
      std::function<CuttableFactory(const std::string& location, const ContentionOptions& options)>;

  /// In CamelCase, e.g. "Redis": the tests are called RedisContract.<sentence>.
  std::string name;

  std::set<Capability> capabilities;
  NameLimits name_limits;

  /// Whether the store does not accept a name that is within the limits; creating a service with it
  /// must then fail. Empty: it accepts all of them.
  std::function<bool(std::string_view mutex)> refuses_mutex;
  std::function<bool(std::string_view contender_id)> refuses_contender_id;

  /// Optional. Starts what the store needs (a server, a directory) and returns its location. Called
  /// at most once per process, before the first test that runs; not when tests are listed, and not
  /// in the processes that tests start.
  std::function<std::string()> set_up;

  /// Creates a factory. All factories with the same location share a store, including those of
  /// other processes if the store claims that. Every option that the store supports must be
  /// honoured.
  MakeFactory make_factory;

  /// For `Capability::lease_store`, else empty: the store that factories are made over, with
  /// connections of its own each time it is called.
  MakeStore make_store;

  /// For `Capability::cut_off`, else empty.
  MakeCuttableFactory make_cuttable_factory;

  /// The lease of tests that wait for its end. The other tests use one eight times as long, or this
  /// one if the store lacks prompt hand-over, so that they tolerate a short stall of the machine.
  std::chrono::milliseconds ttl{600};
  std::chrono::milliseconds transition{300};
  JitterBounds jitter{std::chrono::milliseconds{-50}, std::chrono::milliseconds{100}};

  /// The time from the end of `on_released` to the start of the next `on_acquired`: the median of
  /// several must be within it, and none may take more than a second longer, which allows for a
  /// busy machine.
  std::chrono::milliseconds hand_over{200};

  /// How much longer than `simba::worst_cases` a take-over after a crash may take, for a store
  /// that ends leases only at its own ticks.
  std::chrono::milliseconds end_of_lease{0};

  /// Multiplies every lease, bound and deadline. Raise it for a slow store. For a slow machine,
  /// the environment variable SIMBA_TEST_SCALE multiplies bounds and deadlines once more, and
  /// SIMBA_TEST_LEASE_SCALE multiplies leases.
  double scale = 1.0;
};

/// Registers the contract as GoogleTest tests, always in the same order. Each test uses its own
/// mutexes, so they may run individually, together and in parallel. For programs with their own
/// main(): tests that start processes are skipped, since they need `run_contract`.
///
/// Throws InvalidArgumentError if `store` is incomplete or inconsistent.
void register_store_contract(StoreUnderTest store);

/// A complete main(): initialises GoogleTest, registers and runs the tests, and finally lists the
/// skipped capabilities. Tests that need processes start the same program again.
int run_contract(int argc, char** argv, StoreUnderTest store);

}  // namespace simba::testkit
