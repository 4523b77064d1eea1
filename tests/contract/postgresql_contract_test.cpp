#include <memory>
#include <string>

#include "simba/postgresql/postgresql_factory.hpp"
#include "simba/testkit/store_contract.hpp"
#include "support/client_options.hpp"

namespace {

simba::postgresql::PostgreSqlOptions options_of(
    const std::string& text, const simba::engine::ContentionOptions& contention) {
  return simba::support::client_options<simba::postgresql::PostgreSqlOptions>(
      simba::support::parse_location(text), {.contention = contention});
}

}  // namespace

int main(int argc, char** argv) {
  using simba::engine::ContentionOptions;
  using simba::testkit::Capability;

  simba::testkit::StoreUnderTest store;
  store.name = "PostgreSql";
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over,   Capability::slashes_in_names,
                        Capability::exact_names,        Capability::duplicate_ids};
  store.set_up = [] { return to_string(simba::support::postgresql_location()); };
  store.make_factory = [](const std::string& location, const ContentionOptions& contention) {
    return simba::postgresql::make_postgresql_factory(options_of(location, contention));
  };
  store.make_cuttable_factory = [](const std::string& location,
                                   const ContentionOptions& contention) {
    const auto runtime = simba::make_runtime();
    return simba::testkit::make_cuttable_factory(
        simba::postgresql::make_postgresql_store(options_of(location, contention), runtime),
        runtime, contention);
  };
  return simba::testkit::run_contract(argc, argv, store);
}
