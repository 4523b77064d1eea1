#include <string_view>

#include "contract/redis_contract.hpp"

int main(int argc, char** argv) {
  auto store = simba::support::redis_store();
  store.name = "RedisCluster";
  store.set_up = [] { return to_string(simba::support::redis_cluster_location()); };
  store.refuses_mutex = [](std::string_view mutex) { return mutex.starts_with('}'); };
  return simba::testkit::run_contract(argc, argv, store);
}
