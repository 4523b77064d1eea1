#include "config/store_types.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/stores/stores.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

/// The stores in the order of the documents. A new one joins here and in CMakeLists.txt.
std::vector<StoreType> all_types() {
  std::vector<StoreType> types{
      {.name = "memory",
       .title = "Memory",
       .form = UrlForm::path,
       .schemes = {"memory"},
       .urls = {"memory:"}},
      {.name = "sqlite",
       .title = "SQLite",
       .form = UrlForm::path,
       .schemes = {"sqlite"},
       .urls = {"sqlite:PATH", "sqlite:///ABSOLUTE/PATH"},
       .sql = true},
      {.name = "mysql",
       .title = "MySQL and MariaDB",
       .schemes = {"mysql", "mariadb"},
       .urls = {"mysql://user[:password]@host[:port]/database",
                "mysql://user@/database?unix-socket=PATH",
                "mariadb://user[:password]@host[:port]/database"},
       .sql = true},
      {.name = "postgresql",
       .title = "PostgreSQL",
       .schemes = {"postgresql", "postgres"},
       .urls = {"postgresql://[user[:password]@]host[:port],...[/database]",
                "postgresql://[user@]/database?host=/FOLDER/OF/SOCKET"},
       .sql = true},
      {.name = "redis",
       .title = "Redis",
       .schemes = {"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster",
                   "rediss+cluster", "redis+unix"},
       .urls = {"redis://[[user]:password@]host[:port][/database]",
                "redis+sentinel://[[user]:password@]host[:port],.../master-name[/database]",
                "redis+cluster://[[user]:password@]host[:port],...",
                "redis+unix://[[user]:password@]/PATH/OF/SOCKET",
                "rediss://..., rediss+sentinel://..., rediss+cluster://... with TLS"}},
      {.name = "zookeeper",
       .title = "ZooKeeper",
       .schemes = {"zookeeper"},
       .urls = {"zookeeper://[user:password@]host[:port],...[/chroot]"}},
  };
  const auto built = [&](std::string_view name, auto make, auto read_url) {
    const auto found = std::find_if(types.begin(), types.end(),
                                    [&](const StoreType& type) { return type.name == name; });
    found->make = make;
    found->read_url = read_url;
  };
  built("memory", make_memory_options, read_memory_url);
#if SIMBA_HAS_SQLITE
  built("sqlite", make_sqlite_options, read_sqlite_url);
#endif
#if SIMBA_HAS_MYSQL
  built("mysql", make_mysql_options, read_mysql_url);
#endif
#if SIMBA_HAS_POSTGRESQL
  built("postgresql", make_postgresql_options, read_postgresql_url);
#endif
#if SIMBA_HAS_REDIS
  built("redis", make_redis_options, read_redis_url);
#endif
#if SIMBA_HAS_ZOOKEEPER
  built("zookeeper", make_zookeeper_options, read_zookeeper_url);
#endif
  return types;
}

const StoreType* find_if(const auto& predicate) {
  const auto& types = store_types();
  const auto found = std::find_if(types.begin(), types.end(), predicate);
  return found == types.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<StoreType>& store_types() {
  static const std::vector<StoreType> types = all_types();
  return types;
}

const StoreType* find_store_type(std::string_view name) {
  return find_if([&](const StoreType& type) { return type.name == name; });
}

const StoreType* find_store_type_by_scheme(std::string_view scheme) {
  return find_if([&](const StoreType& type) {
    return std::find(type.schemes.begin(), type.schemes.end(), scheme) != type.schemes.end();
  });
}

void require_built(const StoreType& type, std::string_view origin) {
  if (type.built()) return;
  std::vector<std::string_view> there;
  for (const StoreType& other : store_types()) {
    if (other.built()) there.push_back(other.name);
  }
  throw Error{ErrorKind::unsupported,
              fmt::format("{}: this Simba was built without the store \"{}\"; available: {}",
                          origin, type.name, fmt::join(there, ", "))};
}

std::shared_ptr<const Runtime> idle_runtime() {
  auto runtime = std::make_shared<Runtime>();
  runtime->clock = make_system_clock();
  runtime->log = make_null_logger();
  return runtime;
}

}  // namespace simba::config
