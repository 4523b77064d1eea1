#pragma once

#include <memory>
#include <string_view>

#include "simba/core/credentials.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/runtime.hpp"

namespace simba {

struct FactoryOptions {
  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
  CredentialsSource credentials{};           ///< see `config::Configuration::set_credentials`
};

/// A factory for the store that the URL names, e.g. `sqlite:/var/lib/app/simba.db`,
/// `postgresql://app@db/app?ttl=10s`, `redis://10.0.0.5`, `zookeeper://zk1,zk2,zk3/chroot`,
/// `memory:`. docs/configuration.md has all schemes and parameters. The environment is not used,
/// except for the variable that `password-env` names.
///
/// Throws Error of kind `configuration` if the URL is invalid, naming the part and what is allowed,
/// and of kind `unsupported` if the store was not built in. Messages never contain a password.
std::unique_ptr<MutexServiceFactory> make_factory(std::string_view url,
                                                  const FactoryOptions& options = {});

}  // namespace simba
