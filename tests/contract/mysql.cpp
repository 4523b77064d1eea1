#include <chrono>
#include <string>

#include "contract/stores.hpp"
#include "simba/mysql/mysql_factory.hpp"
#include "support/client_options.hpp"

namespace simba::support {
namespace {

/// The MySQL store on the server at `location`; the rest is the same for all of them.
testkit::StoreUnderTest mysql_store(const char* name, Location (*location)()) {
  using testkit::Capability;
  const auto options_of = [](const std::string& location, const ContentionOptions& contention) {
    const Location place = parse_location(location);
    return verifying(client_options<mysql::MySqlOptions>(place, {.contention = contention}), place);
  };
  testkit::StoreUnderTest store;
  store.name = name;
  store.set_up = [location] { return to_string(location()); };
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over,   Capability::slashes_in_names,
                        Capability::duplicate_ids,      Capability::lease_store,
                        Capability::timed_leases};
  store.hand_over = std::chrono::milliseconds{300};
  store.make_factory = [=](const std::string& location, const ContentionOptions& contention) {
    return mysql::make_mysql_factory(options_of(location, contention));
  };
  store.make_store = [=](const std::string& location, const ContentionOptions& contention) {
    return mysql::make_mysql_store(options_of(location, contention), make_runtime());
  };
  store.make_cuttable_factory = [=](const std::string& location,
                                    const ContentionOptions& contention) {
    const auto runtime = make_runtime();
    return testkit::make_cuttable_factory(
        mysql::make_mysql_store(options_of(location, contention), runtime), runtime, contention);
  };
  return store;
}

testkit::StoreUnderTest with_exact_names(testkit::StoreUnderTest store) {
  store.capabilities.insert(testkit::Capability::exact_names);
  return store;
}

const ContractStore mariadb{
    "mariadb", [] { return with_exact_names(mysql_store("MariaDb", mariadb_location)); }};
// Not exact names: all its collations take names for the same that differ in trailing spaces alone.
const ContractStore mysql57{"mysql57", [] { return mysql_store("MySql57", mysql_location); }};
const ContractStore mysql97{
    "mysql97", [] { return with_exact_names(mysql_store("MySql97", mysql97_location)); }};

}  // namespace
}  // namespace simba::support
