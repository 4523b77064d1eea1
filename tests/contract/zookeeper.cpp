#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "contract/stores.hpp"
#include "simba/zookeeper/zookeeper_factory.hpp"
#include "support/zookeeper/zookeeper_client_options.hpp"
#include "support/zookeeper/zookeeper_proxies.hpp"

namespace simba::support {
namespace {

/// A factory that keeps alive what its way to the servers goes through. Its services must not
/// outlive it.
class ProxiedFactory final : public MutexServiceFactory {
 public:
  ProxiedFactory(std::shared_ptr<ZooKeeperProxies> proxies,
                 std::unique_ptr<MutexServiceFactory> factory)
      : proxies_{std::move(proxies)}, factory_{std::move(factory)} {}

  using MutexContendServiceFactory::create_mutex_contend_service;
  using MutexRetrievalServiceFactory::create_mutex_retrieval_service;

  std::unique_ptr<MutexContendService> create_mutex_contend_service(
      MutexContender& contender, const ContendServiceOptions& options) override {
    return factory_->create_mutex_contend_service(contender, options);
  }
  std::unique_ptr<MutexRetrievalService> create_mutex_retrieval_service(
      MutexRetriever& retriever, const RetrievalServiceOptions& options) override {
    return factory_->create_mutex_retrieval_service(retriever, options);
  }
  std::shared_ptr<const Runtime> runtime() const noexcept override { return factory_->runtime(); }

 private:
  const std::shared_ptr<ZooKeeperProxies> proxies_;
  const std::unique_ptr<MutexServiceFactory> factory_;
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
    return testkit::CuttableFactory{
        .factory = std::make_unique<ProxiedFactory>(
            proxies,
            zookeeper::make_zookeeper_factory(zookeeper_options(proxies->location(), contention))),
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
