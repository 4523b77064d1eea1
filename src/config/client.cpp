// The constructors of a client that need to know all stores.
#include "simba/client/client.hpp"

#include <utility>

#include "simba/config/configuration.hpp"

namespace simba {

Client::Client(std::string_view url, ClientOptions options)
    : Client{config::Configuration::from_url(url), std::move(options)} {}

namespace {

config::Configuration with_credentials(config::Configuration configuration,
                                       const CredentialsSource& source) {
  if (source) configuration.set_credentials(source);
  return configuration;
}

}  // namespace

Client::Client(const config::Configuration& configuration, ClientOptions options)
    : Client{MakeFactory{[configuration = with_credentials(configuration, options.credentials)](
                             const std::shared_ptr<const Runtime>& runtime) {
               return std::shared_ptr<MutexServiceFactory>{configuration.make_factory(runtime)};
             }},
             std::move(options)} {}

}  // namespace simba
