#include <memory>
#include <optional>
#include <string>

#include "simba/sqlite/sqlite_factory.hpp"
#include "simba/testkit/store_contract.hpp"
#include "support/temporary_folder.hpp"

int main(int argc, char** argv) {
  using simba::engine::ContentionOptions;
  using simba::sqlite::SqliteOptions;
  using simba::testkit::Capability;

  std::optional<simba::support::TemporaryFolder> folder;
  simba::testkit::StoreUnderTest store;
  store.name = "Sqlite";
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over,   Capability::slashes_in_names,
                        Capability::exact_names,        Capability::duplicate_ids};
  store.set_up = [&] { return folder.emplace().path() / "simba.db"; };
  store.make_factory = [](const std::string& location, const ContentionOptions& options) {
    return simba::sqlite::make_sqlite_factory({.path = location, .sql = {.contention = options}});
  };
  store.make_cuttable_factory = [](const std::string& location, const ContentionOptions& options) {
    const auto runtime = simba::make_runtime();
    return simba::testkit::make_cuttable_factory(
        simba::sqlite::make_sqlite_store({.path = location, .sql = {.contention = options}},
                                         runtime),
        runtime, options);
  };
  return simba::testkit::run_contract(argc, argv, store);
}
