#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "support/location.hpp"
#include "support/servers.hpp"

namespace simba::support {

namespace {

/// The location in the file that a variable of the environment names, else of a server of type
/// `OwnServer` that lives until the process ends.
template <class OwnServer>
Location shared_location(const char* variable) {
  if (const char* file = variable != nullptr ? std::getenv(variable) : nullptr; file != nullptr) {
    std::ifstream stream{file};
    std::string line;
    if (!std::getline(stream, line)) {
      throw std::runtime_error{fmt::format(
          "{} names {}, which cannot be read: run ctest, or unset the variable", variable, file)};
    }
    return parse_location(line);
  }
  static OwnServer servers;
  return servers.location();
}

struct RedisWithTls {
  Location location() const { return server.location(); }

  const RedisServer server{Tls::on};
};

}  // namespace

Location postgresql_location() {
  return shared_location<PostgreSqlServer>("SIMBA_TEST_POSTGRESQL");
}

Location mariadb_location() { return shared_location<MariaDbServer>("SIMBA_TEST_MARIADB"); }

Location redis_location() { return shared_location<RedisServer>("SIMBA_TEST_REDIS"); }

Location redis_tls_location() { return shared_location<RedisWithTls>("SIMBA_TEST_REDIS_TLS"); }

Location redis_cluster_location() {
  return shared_location<RedisClusterServers>("SIMBA_TEST_REDIS_CLUSTER");
}

Location redis_sentinel_location() {
  return shared_location<RedisSentinelServers>("SIMBA_TEST_REDIS_SENTINEL");
}

Location zookeeper_location() { return shared_location<ZooKeeperServer>("SIMBA_TEST_ZOOKEEPER"); }

Location zookeeper_ensemble_location() {
  return shared_location<ZooKeeperEnsemble>("SIMBA_TEST_ZOOKEEPER_ENSEMBLE");
}

Location mysql_location() { return shared_location<MySqlServer>(nullptr); }

Location mysql97_location() { return shared_location<MySql97Server>(nullptr); }

}  // namespace simba::support
