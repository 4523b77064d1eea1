#include "contract/redis_contract.hpp"

int main(int argc, char** argv) {
  auto store = simba::support::redis_store();
  store.name = "Redis";
  store.set_up = [] { return to_string(simba::support::redis_location()); };
  return simba::testkit::run_contract(argc, argv, store);
}
