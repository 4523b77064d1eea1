#include <memory>
#include <string>

#include "contract/stores.hpp"
#include "simba/core/clock.hpp"
#include "simba/memory/memory_factory.hpp"

namespace simba::support {
namespace {

testkit::StoreUnderTest memory_store() {
  using testkit::Capability;
  const auto shared = std::make_shared<memory::MemoryStore>(make_system_clock());
  testkit::StoreUnderTest store;
  store.name = "Memory";
  store.capabilities = {Capability::cut_off,        Capability::prompt_hand_over,
                        Capability::fair_hand_over, Capability::slashes_in_names,
                        Capability::exact_names,    Capability::duplicate_ids,
                        Capability::lease_store,    Capability::timed_leases};
  store.make_factory = [shared](const std::string&, const ContentionOptions& options) {
    return memory::make_memory_factory({.contention = options, .store = shared, .runtime = {}});
  };
  store.make_store = [shared](const std::string&, const ContentionOptions&) { return shared; };
  store.make_cuttable_factory = [shared](const std::string&, const ContentionOptions& options) {
    return testkit::make_cuttable_factory(shared, make_runtime(), options);
  };
  return store;
}

const ContractStore memory_alone{"memory", memory_store};

}  // namespace
}  // namespace simba::support
