#include "simba/redis/redis_options.hpp"

#include <fmt/format.h>

namespace simba::redis {

std::string to_string(const Endpoint& endpoint) {
  if (!endpoint.unix_socket.empty()) return endpoint.unix_socket;
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
                 : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

}  // namespace simba::redis
