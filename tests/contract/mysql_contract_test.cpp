#include <chrono>
#include <memory>
#include <string>

#include "simba/mysql/mysql_factory.hpp"
#include "simba/testkit/store_contract.hpp"
#include "support/location.hpp"

int main(int argc, char** argv) {
  using simba::engine::ContentionOptions;
  using simba::mysql::MySqlOptions;
  using simba::testkit::Capability;

  const auto options_of = [](const std::string& location, const ContentionOptions& contention) {
    const auto server = simba::support::parse_location(location);
    MySqlOptions options;
    options.host = server.host;
    options.port = server.port;
    options.user = server.user;
    options.password = simba::Secret{server.password};
    options.database = server.database;
    options.sql.contention = contention;
    return options;
  };

  simba::testkit::StoreUnderTest store;
  store.name = "MariaDb";
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over, Capability::slashes_in_names,
                        Capability::exact_names};
  store.hand_over = std::chrono::milliseconds{300};
  store.set_up = [] { return to_string(simba::support::mariadb_location()); };
  store.make_factory = [&](const std::string& location, const ContentionOptions& contention) {
    return simba::mysql::make_mysql_factory(options_of(location, contention));
  };
  store.make_cuttable_factory = [&](const std::string& location,
                                    const ContentionOptions& contention) {
    const auto runtime = simba::make_runtime();
    return simba::testkit::make_cuttable_factory(
        simba::mysql::make_mysql_store(options_of(location, contention), runtime), runtime,
        contention);
  };
  return simba::testkit::run_contract(argc, argv, store);
}
