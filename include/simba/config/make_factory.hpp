#pragma once

#include <memory>
#include <string_view>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/runtime.hpp"

namespace simba {

struct FactoryOptions {
  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
};

/// A factory for the store that the URL names, e.g. `sqlite:/var/lib/app/simba.db`,
/// `postgresql://app@db/app?ttl=10s`, `redis://10.0.0.5`, `zookeeper://zk1,zk2,zk3/chroot`,
/// `memory:`. docs/configuration.md has all schemes and parameters. Nothing is taken from the
/// environment but the variable that `password-env` names.
///
/// Throws Error of kind `configuration`, which says what is wrong with which part and what is
/// allowed, and `unsupported` where the store was not built in. A password is never in a message.
std::unique_ptr<MutexServiceFactory> make_factory(std::string_view url,
                                                  const FactoryOptions& options = {});

}  // namespace simba
