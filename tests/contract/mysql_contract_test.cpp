#include "contract/mysql_contract.hpp"

int main(int argc, char** argv) {
  auto store = simba::support::mysql_store();
  store.name = "MariaDb";
  store.capabilities.insert(simba::testkit::Capability::exact_names);
  store.set_up = [] { return to_string(simba::support::mariadb_location()); };
  return simba::testkit::run_contract(argc, argv, store);
}
