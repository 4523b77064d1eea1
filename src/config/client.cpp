// The constructors of a client that need to know all stores.
#include "simba/client/client.hpp"

#include <utility>

#include "simba/config/configuration.hpp"

namespace simba {

Client::Client(std::string_view url, ClientOptions options)
    : Client{config::Configuration::from_url(url), std::move(options)} {}

Client::Client(const config::Configuration& configuration, ClientOptions options)
    : Client{MakeFactory{[configuration](const std::shared_ptr<const Runtime>& runtime) {
               return std::shared_ptr<MutexServiceFactory>{configuration.make_factory(runtime)};
             }},
             std::move(options)} {}

}  // namespace simba
