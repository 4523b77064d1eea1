#include "simba/config/make_factory.hpp"

#include "config/read/url_settings.hpp"
#include "config/store_settings.hpp"
#include "simba/config/environment.hpp"

namespace simba {

std::unique_ptr<MutexServiceFactory> make_factory(std::string_view url,
                                                  const FactoryOptions& options) {
  const config::UrlSettings from_url = config::read_url(url, {});
  config::StoreSettings settings{*from_url.type, from_url.origin};
  settings.add(from_url.layer, config::process_environment());
  if (options.credentials) settings.set_credentials(options.credentials);
  settings.check();
  return settings.options()->make_factory(options.runtime);
}

}  // namespace simba
