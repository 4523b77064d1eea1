#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "engine/alarms.hpp"
#include "engine/attachment.hpp"
#include "engine/succession.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::engine {

/// What the contentions of a factory are made of.
struct LeaseParts {
  std::shared_ptr<LeaseStore> store;
  std::shared_ptr<Attachment> attachment;  ///< whoever has one keeps the store open
  std::shared_ptr<const Runtime> runtime;
  std::shared_ptr<const ContentionPlan> plan;
  std::chrono::nanoseconds renew_phase{0};
  std::shared_ptr<Successions> successions;
  std::shared_ptr<Alarms> alarms;
  std::uint64_t instance = 0;
};

}  // namespace simba::engine
