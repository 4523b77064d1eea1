#include <string>
#include <string_view>

#include "contract/stores.hpp"
#include "simba/redis/redis_factory.hpp"
#include "support/redis/redis_client_options.hpp"

namespace simba::support {
namespace {

/// The Redis store on the servers at `location`; the rest is the same for all of them.
testkit::StoreUnderTest redis_store(const char* name, Location (*location)()) {
  using testkit::Capability;
  testkit::StoreUnderTest store;
  store.name = name;
  store.set_up = [location] { return to_string(location()); };
  store.capabilities = {
      Capability::separate_processes, Capability::cut_off,          Capability::prompt_hand_over,
      Capability::fair_hand_over,     Capability::slashes_in_names, Capability::exact_names,
      Capability::duplicate_ids,      Capability::lease_store,      Capability::timed_leases};
  store.refuses_contender_id = [](std::string_view id) {
    return id.find("@@") != std::string_view::npos;
  };
  store.make_factory = [](const std::string& location, const ContentionOptions& contention) {
    return redis::make_redis_factory(redis_options(parse_location(location), contention));
  };
  store.make_store = [](const std::string& location, const ContentionOptions& contention) {
    return redis::make_redis_store(redis_options(parse_location(location), contention),
                                   make_runtime());
  };
  store.make_cuttable_factory = [](const std::string& location,
                                   const ContentionOptions& contention) {
    const auto runtime = make_runtime();
    return testkit::make_cuttable_factory(
        redis::make_redis_store(redis_options(parse_location(location), contention), runtime),
        runtime, contention);
  };
  return store;
}

const ContractStore redis_alone{"redis", [] { return redis_store("Redis", redis_location); }};
const ContractStore redis_tls{"redis-tls",
                              [] { return redis_store("RedisTls", redis_tls_location); }};
const ContractStore redis_sentinel{
    "redis-sentinel", [] { return redis_store("RedisSentinel", redis_sentinel_location); }};
const ContractStore redis_cluster{
    "redis-cluster", [] {
      auto store = redis_store("RedisCluster", redis_cluster_location);
      store.refuses_mutex = [](std::string_view mutex) { return mutex.starts_with('}'); };
      return store;
    }};

}  // namespace
}  // namespace simba::support
