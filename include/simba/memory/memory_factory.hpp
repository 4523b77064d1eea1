#pragma once

#include <memory>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/memory/memory_store.hpp"

namespace simba::memory {

/// Options of a factory over the in-memory store. Factories that share a store contend with each
/// other; factories that share a runtime share its threads. A store passed here must use the clock
/// of the runtime (`runtime->clock`), or the system clock if no runtime is passed.
struct MemoryFactoryOptions {
  ContentionOptions contention{};
  std::shared_ptr<MemoryStore> store{};      ///< empty: a new one
  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
};

/// A factory whose services contend through memory.
/// Throws InvalidArgumentError if an option is out of bounds or two contradict each other.
std::unique_ptr<MutexServiceFactory> make_memory_factory(MemoryFactoryOptions options);

/// With its own store and runtime.
std::unique_ptr<MutexServiceFactory> make_memory_factory(const ContentionOptions& contention);

/// With its own store and runtime, and default options.
std::unique_ptr<MutexServiceFactory> make_memory_factory();

}  // namespace simba::memory
