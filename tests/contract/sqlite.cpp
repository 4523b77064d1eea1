#include <memory>
#include <optional>
#include <string>

#include "contract/stores.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "support/temporary_folder.hpp"

namespace simba::support {
namespace {

testkit::StoreUnderTest sqlite_store() {
  using testkit::Capability;
  const auto folder = std::make_shared<std::optional<TemporaryFolder>>();
  testkit::StoreUnderTest store;
  store.name = "Sqlite";
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over,   Capability::slashes_in_names,
                        Capability::exact_names,        Capability::duplicate_ids,
                        Capability::lease_store,        Capability::timed_leases};
  store.set_up = [folder] { return folder->emplace().path() / "simba.db"; };
  store.make_factory = [](const std::string& location, const ContentionOptions& options) {
    return sqlite::make_sqlite_factory({.path = location, .sql = {.contention = options}});
  };
  store.make_store = [](const std::string& location, const ContentionOptions& options) {
    return sqlite::make_sqlite_store({.path = location, .sql = {.contention = options}},
                                     make_runtime());
  };
  store.make_cuttable_factory = [](const std::string& location, const ContentionOptions& options) {
    const auto runtime = make_runtime();
    return testkit::make_cuttable_factory(
        sqlite::make_sqlite_store({.path = location, .sql = {.contention = options}}, runtime),
        runtime, options);
  };
  return store;
}

const ContractStore sqlite_alone{"sqlite", sqlite_store};

}  // namespace
}  // namespace simba::support
