#include "contract/zookeeper_contract.hpp"

int main(int argc, char** argv) {
  auto store = simba::support::zookeeper_store();
  store.name = "ZooKeeper";
  store.set_up = [] { return to_string(simba::support::zookeeper_location()); };
  return simba::testkit::run_contract(argc, argv, store);
}
