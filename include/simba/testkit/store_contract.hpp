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

/// What a store can do beyond the contract that binds all of them. Tests that need what a store
/// does not claim are skipped, and the skip is reported.
enum class Capability {
  separate_processes,  ///< contenders of different processes reach the same store
  cut_off,             ///< `make_cuttable_factory` can cut one factory off the store
  prompt_hand_over,    ///< a release reaches a waiter in about `StoreUnderTest::hand_over`
  fair_hand_over,      ///< waiters get the mutex in the order in which they came
  slashes_in_names,    ///< names may hold '/'; without it they must be refused
  exact_names,         ///< names that differ in case, accent or trailing space alone are different
  duplicate_ids,       ///< of two contenders that use one id at the same time, one notices
};

/// The capability in words, e.g. "prompt hand-over".
std::string_view to_string(Capability capability) noexcept;

/// A factory whose way to the store can be cut: no request gets through and no answer and no notice
/// comes back. To the store that is a crash.
struct CuttableFactory {
  std::unique_ptr<MutexServiceFactory> factory;
  std::function<void()> cut;
  std::function<void()> mend;
};

/// Such a factory over any lease store.
CuttableFactory make_cuttable_factory(std::shared_ptr<engine::LeaseStore> store,
                                      std::shared_ptr<const Runtime> runtime,
                                      const engine::ContentionOptions& options);

/// A store and what its contract tests need to know of it.
struct StoreUnderTest {
  using MakeFactory = std::function<std::unique_ptr<MutexServiceFactory>(
      const std::string& location, const engine::ContentionOptions& options)>;
  using MakeCuttableFactory = std::function<CuttableFactory(
      const std::string& location, const engine::ContentionOptions& options)>;

  /// In CamelCase, e.g. "Redis": the tests are called RedisContract.<sentence>.
  std::string name;

  std::set<Capability> capabilities;
  NameLimits name_limits;

  /// Whether the store says that it cannot keep such a name although it is within the limits; it
  /// must then be refused when a service is made. Empty: it keeps them all.
  std::function<bool(std::string_view mutex)> refuses_mutex;
  std::function<bool(std::string_view contender_id)> refuses_contender_id;

  /// Optional. Starts what the store needs (a server, a directory) and tells where it is. Called at
  /// most once a process, before the first test that runs; not when tests are listed, and not in
  /// the processes that tests start.
  std::function<std::string()> set_up;

  /// Makes a factory. All factories of one location reach the same store, also those of other
  /// processes if the store claims that. Every option is honoured, as far as the store knows it.
  MakeFactory make_factory;

  /// For `Capability::cut_off`, else empty.
  MakeCuttableFactory make_cuttable_factory;

  /// The lease of tests that wait for its end. The other tests use one eight times as long, or this
  /// one where the store lacks prompt hand-over, so that a short stall of the machine fails none.
  std::chrono::milliseconds ttl{600};
  std::chrono::milliseconds transition{300};
  JitterBounds jitter{std::chrono::milliseconds{-50}, std::chrono::milliseconds{100}};

  /// From the end of `on_released` to the beginning of the next `on_acquired`: the median of some
  /// is within it, and none takes a second longer, which a busy machine may.
  std::chrono::milliseconds hand_over{200};

  /// What a take-over after a crash may take beyond `engine::worst_cases`: for a store that ends
  /// leases only at ticks of its own.
  std::chrono::milliseconds end_of_lease{0};

  /// Multiplies every lease, bound and deadline. Raise it for slow stores and machines; the
  /// variable SIMBA_TEST_SCALE of the environment multiplies it once more.
  double scale = 1.0;
};

/// Registers the contract as GoogleTest tests, in the same order each time. Each test uses mutexes
/// of its own, so they may run one by one, all together, and beside each other. For those with a
/// main() of their own: tests that start processes are skipped, since they need `run_contract`.
///
/// Throws InvalidArgumentError where `store` is incomplete or contradicts itself.
void register_store_contract(StoreUnderTest store);

/// The whole of a main(): initialises GoogleTest, registers, runs, and lists at the end which
/// capabilities were skipped. The same program is started by the tests that need processes.
int run_contract(int argc, char** argv, StoreUnderTest store);

}  // namespace simba::testkit
