#pragma once

#include <chrono>
#include <string>

#include "simba/mysql/mysql_factory.hpp"
#include "simba/testkit/store_contract.hpp"
#include "support/client_options.hpp"

namespace simba::support {

/// The MySQL store, for whichever server `set_up` tells; the rest is the same for all of them.
inline testkit::StoreUnderTest mysql_store() {
  using engine::ContentionOptions;
  using testkit::Capability;
  const auto options_of = [](const std::string& location, const ContentionOptions& contention) {
    return client_options<mysql::MySqlOptions>(parse_location(location),
                                               {.contention = contention});
  };
  testkit::StoreUnderTest store;
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over, Capability::slashes_in_names,
                        Capability::duplicate_ids};
  store.hand_over = std::chrono::milliseconds{300};
  store.make_factory = [=](const std::string& location, const ContentionOptions& contention) {
    return mysql::make_mysql_factory(options_of(location, contention));
  };
  store.make_cuttable_factory = [=](const std::string& location,
                                    const ContentionOptions& contention) {
    const auto runtime = make_runtime();
    return testkit::make_cuttable_factory(
        mysql::make_mysql_store(options_of(location, contention), runtime), runtime, contention);
  };
  return store;
}

}  // namespace simba::support
