#pragma once

#include <memory>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/memory/memory_store.hpp"

namespace simba::memory {

/// What a factory over the in-memory store is made of. Factories that share a store contend with
/// each other; factories that share a runtime share its threads. A store that is given counts on
/// the clock of the runtime (`runtime->clock`), or on the system clock where no runtime is given.
struct MemoryFactoryOptions {
  engine::ContentionOptions contention{};
  std::shared_ptr<MemoryStore> store{};      ///< empty: a new one
  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
};

/// A factory whose services contend through memory.
/// Throws InvalidArgumentError where the options contradict each other.
std::unique_ptr<MutexServiceFactory> make_memory_factory(MemoryFactoryOptions options);

/// With a store and a runtime of its own.
std::unique_ptr<MutexServiceFactory> make_memory_factory(
    const engine::ContentionOptions& contention);

/// With a store and a runtime of its own and default options.
std::unique_ptr<MutexServiceFactory> make_memory_factory();

}  // namespace simba::memory
