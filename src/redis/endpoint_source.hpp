#pragma once

#include <functional>
#include <variant>

#include "simba/core/error.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

using EndpointHandler = std::function<void(const std::variant<Endpoint, Error>&)>;

/// Says where the server to connect to is, each time anew.
///
/// Threads: `find` is called on the loop's thread and answers there, inside the call or later,
/// exactly once, unless the loop ends first.
class EndpointSource {
 public:
  virtual ~EndpointSource() = default;
  virtual void find(EndpointHandler handler) = 0;
};

}  // namespace simba::redis
