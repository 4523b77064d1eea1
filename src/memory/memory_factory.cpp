#include "simba/memory/memory_factory.hpp"

#include <utility>

#include "simba/engine/lease_service_factory.hpp"

namespace simba::memory {

std::unique_ptr<MutexServiceFactory> make_memory_factory(MemoryFactoryOptions options) {
  if (!options.runtime) {
    options.runtime = make_runtime();
  }
  if (!options.store) {
    options.store = std::make_shared<MemoryStore>(options.runtime->clock);
  }
  return std::make_unique<engine::LeaseServiceFactory>(
      std::move(options.store), std::move(options.runtime), options.contention);
}

std::unique_ptr<MutexServiceFactory> make_memory_factory(const ContentionOptions& contention) {
  return make_memory_factory(MemoryFactoryOptions{contention, nullptr, nullptr});
}

std::unique_ptr<MutexServiceFactory> make_memory_factory() {
  return make_memory_factory(MemoryFactoryOptions{});
}

}  // namespace simba::memory
