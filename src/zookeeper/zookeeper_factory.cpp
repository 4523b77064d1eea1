#include "simba/zookeeper/zookeeper_factory.hpp"

#include <algorithm>
#include <utility>

#include "simba/engine/lease_service_factory.hpp"
#include "zookeeper/client/c_connector.hpp"
#include "zookeeper/settings.hpp"
#include "zookeeper/zookeeper_store.hpp"

namespace simba::zookeeper {

std::unique_ptr<MutexServiceFactory> make_zookeeper_factory(ZooKeeperOptions options) {
  if (!options.runtime) options.runtime = make_runtime();
  const auto runtime = options.runtime;
  return std::make_unique<engine::LeaseServiceFactory>(make_zookeeper_store(options, runtime),
                                                       runtime, contention_of(options));
}

std::shared_ptr<engine::LeaseStore> make_zookeeper_store(const ZooKeeperOptions& options,
                                                         std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a ZooKeeper store needs a runtime"};
  Settings settings = checked_settings(options);
  // Those who ask wait no longer than their request timeout: before that they are told why.
  const ContentionPlan plan{contention_of(options)};
  settings.connection_timeout = std::min(settings.connection_timeout, plan.request_timeout * 3 / 4);
  auto connector = make_c_connector(settings, runtime);
  return std::make_shared<ZooKeeperStore>(settings, std::move(connector), std::move(runtime));
}

// The owner is at risk when two thirds of a session have passed without proof.
ContentionOptions contention_of(const ZooKeeperOptions& options) {
  ContentionOptions contention = options.contention;
  if (options.session_timeout) {
    contention.ttl = *options.session_timeout * 2 / 3;
    contention.transition = *options.session_timeout - contention.ttl;
  }
  return contention;
}

}  // namespace simba::zookeeper
