#include <memory>
#include <optional>
#include <string>

#include "file_store.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/testkit/store_contract.hpp"
#include "support/temporary_folder.hpp"

int main(int argc, char** argv) {
  using simba::ContentionOptions;
  using simba::testkit::Capability;

  std::optional<simba::support::TemporaryFolder> folder;
  simba::testkit::StoreUnderTest store;
  store.name = "File";
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over,   Capability::slashes_in_names,
                        Capability::exact_names,        Capability::lease_store,
                        Capability::timed_leases};
  store.name_limits = {.mutex = 63};
  store.set_up = [&] { return folder.emplace().path(); };
  store.make_factory = [](const std::string& location, const ContentionOptions& options) {
    const auto runtime = simba::make_runtime();
    return std::make_unique<simba::engine::LeaseServiceFactory>(
        file_store::make_file_store(location, runtime), runtime, options);
  };
  store.make_store = [](const std::string& location, const ContentionOptions&) {
    return file_store::make_file_store(location, simba::make_runtime());
  };
  store.make_cuttable_factory = [](const std::string& location, const ContentionOptions& options) {
    const auto runtime = simba::make_runtime();
    return simba::testkit::make_cuttable_factory(file_store::make_file_store(location, runtime),
                                                 runtime, options);
  };
  return simba::testkit::run_contract(argc, argv, store);
}
