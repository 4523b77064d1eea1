#include <memory>
#include <string>

#include "simba/core/clock.hpp"
#include "simba/memory/memory_factory.hpp"
#include "simba/testkit/store_contract.hpp"

int main(int argc, char** argv) {
  using simba::engine::ContentionOptions;
  using simba::testkit::Capability;

  const auto memory = std::make_shared<simba::memory::MemoryStore>(simba::make_system_clock());
  simba::testkit::StoreUnderTest store;
  store.name = "Memory";
  store.capabilities = {Capability::cut_off,        Capability::prompt_hand_over,
                        Capability::fair_hand_over, Capability::slashes_in_names,
                        Capability::exact_names,    Capability::duplicate_ids};
  store.make_factory = [&](const std::string&, const ContentionOptions& options) {
    return simba::memory::make_memory_factory(
        {.contention = options, .store = memory, .runtime = {}});
  };
  store.make_cuttable_factory = [&](const std::string&, const ContentionOptions& options) {
    return simba::testkit::make_cuttable_factory(memory, simba::make_runtime(), options);
  };
  return simba::testkit::run_contract(argc, argv, store);
}
