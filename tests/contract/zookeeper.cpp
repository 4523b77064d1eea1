#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "contract/stores.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/zookeeper/zookeeper_factory.hpp"
#include "support/zookeeper/zookeeper_client_options.hpp"
#include "support/zookeeper/zookeeper_proxies.hpp"

namespace simba::support {
namespace {

/// A store, and what its way to the servers goes through.
struct ProxiedStore {
  std::shared_ptr<ZooKeeperProxies> proxies;
  std::shared_ptr<engine::LeaseStore> store;
};

/// Whether a text that is valid UTF-8 is no name of a node: because of '/', "." or "..", or of
/// characters that servers refuse, which are those of control, those without a meaning, and all
/// that take more than 16 bits.
bool is_no_node_name(std::string_view name) {
  if (name == "." || name == "..") {
    return true;
  }
  for (std::size_t i = 0; i < name.size();) {
    const auto first = static_cast<unsigned char>(name[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    std::uint32_t character = length == 1 ? first : first & (0xFFU >> (length + 1));
    for (std::size_t next = 1; next < length; ++next) {
      character = character << 6U | (static_cast<unsigned char>(name[i + next]) & 0x3FU);
    }
    if (character == '/' || character <= 0x1F || (character >= 0x7F && character <= 0x9F) ||
        (character >= 0xD800 && character <= 0xF8FF) || character >= 0xFFF0) {
      return true;
    }
    i += length;
  }
  return false;
}

/// The ZooKeeper store on the servers at `location`; the rest is the same for all of them.
testkit::StoreUnderTest zookeeper_store(const char* name, Location (*location)()) {
  using testkit::Capability;
  testkit::StoreUnderTest store;
  store.name = name;
  store.set_up = [location] { return to_string(location()); };
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over,   Capability::fair_hand_over,
                        Capability::exact_names,        Capability::duplicate_ids,
                        Capability::lease_store};
  store.refuses_mutex = is_no_node_name;
  // Sessions end at ticks of the leader.
  store.end_of_lease = zookeeper_tick;
  store.make_factory = [](const std::string& location, const ContentionOptions& contention) {
    return zookeeper::make_zookeeper_factory(
        zookeeper_options(parse_location(location), contention));
  };
  store.make_store = [](const std::string& location, const ContentionOptions& contention) {
    return zookeeper::make_zookeeper_store(zookeeper_options(parse_location(location), contention),
                                           make_runtime());
  };
  // Not by holding requests back above the store: its session would live on.
  store.make_cuttable_factory = [](const std::string& location,
                                   const ContentionOptions& contention) {
    const auto proxies = std::make_shared<ZooKeeperProxies>(parse_location(location));
    const auto options = zookeeper_options(proxies->location(), contention);
    const auto runtime = make_runtime();
    const auto proxied = std::make_shared<ProxiedStore>(
        ProxiedStore{proxies, zookeeper::make_zookeeper_store(options, runtime)});
    return testkit::CuttableFactory{
        .factory = std::make_unique<engine::LeaseServiceFactory>(
            std::shared_ptr<engine::LeaseStore>{proxied, proxied->store.get()}, runtime,
            zookeeper::contention_of(options)),
        .cut = [proxies] { proxies->cut(); },
        .mend = [proxies] { proxies->mend(); }};
  };
  return store;
}

const ContractStore zookeeper_alone{
    "zookeeper", [] { return zookeeper_store("ZooKeeper", zookeeper_location); }};
const ContractStore zookeeper_ensemble{
    "zookeeper-ensemble",
    [] { return zookeeper_store("ZooKeeperEnsemble", zookeeper_ensemble_location); }};

}  // namespace
}  // namespace simba::support
