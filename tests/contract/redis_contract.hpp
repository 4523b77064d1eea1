#pragma once

#include <string>
#include <string_view>

#include "simba/redis/redis_factory.hpp"
#include "simba/testkit/store_contract.hpp"
#include "support/redis_client_options.hpp"

namespace simba::support {

/// The Redis store, for whichever servers `set_up` tells; the rest is the same for all of them.
inline testkit::StoreUnderTest redis_store() {
  using engine::ContentionOptions;
  using testkit::Capability;
  testkit::StoreUnderTest store;
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over,   Capability::fair_hand_over,
                        Capability::slashes_in_names,   Capability::exact_names,
                        Capability::duplicate_ids};
  store.refuses_contender_id = [](std::string_view id) {
    return id.find("@@") != std::string_view::npos;
  };
  store.make_factory = [](const std::string& location, const ContentionOptions& contention) {
    return redis::make_redis_factory(redis_options(parse_location(location), contention));
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

}  // namespace simba::support
