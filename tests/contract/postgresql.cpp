#include <string>

#include "contract/stores.hpp"
#include "simba/postgresql/postgresql_factory.hpp"
#include "support/client_options.hpp"

namespace simba::support {
namespace {

testkit::StoreUnderTest postgresql_store() {
  using testkit::Capability;
  const auto options_of = [](const std::string& location, const ContentionOptions& contention) {
    return client_options<postgresql::PostgreSqlOptions>(parse_location(location),
                                                         {.contention = contention});
  };
  testkit::StoreUnderTest store;
  store.name = "PostgreSql";
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over,   Capability::slashes_in_names,
                        Capability::exact_names,        Capability::duplicate_ids,
                        Capability::lease_store,        Capability::timed_leases};
  store.set_up = [] { return to_string(postgresql_location()); };
  store.make_factory = [=](const std::string& location, const ContentionOptions& contention) {
    return postgresql::make_postgresql_factory(options_of(location, contention));
  };
  store.make_store = [=](const std::string& location, const ContentionOptions& contention) {
    return postgresql::make_postgresql_store(options_of(location, contention), make_runtime());
  };
  store.make_cuttable_factory = [=](const std::string& location,
                                    const ContentionOptions& contention) {
    const auto runtime = make_runtime();
    return testkit::make_cuttable_factory(
        postgresql::make_postgresql_store(options_of(location, contention), runtime), runtime,
        contention);
  };
  return store;
}

const ContractStore postgresql_alone{"postgresql", postgresql_store};

}  // namespace
}  // namespace simba::support
