#include "simba/redis/redis_options.hpp"

#include "core/text.hpp"

namespace simba::redis {

std::string to_string(const Endpoint& endpoint) {
  if (!endpoint.unix_socket.empty()) return endpoint.unix_socket;
  return detail::host_text(endpoint.host, endpoint.port);
}

}  // namespace simba::redis
