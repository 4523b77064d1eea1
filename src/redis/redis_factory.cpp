#include "simba/redis/redis_factory.hpp"

#include <utility>

#include "redis/redis_store.hpp"
#include "redis/settings.hpp"
#include "simba/engine/lease_service_factory.hpp"

namespace simba::redis {

std::unique_ptr<MutexServiceFactory> make_redis_factory(RedisOptions options) {
  if (!options.runtime) options.runtime = make_runtime();
  const auto runtime = options.runtime;
  return std::make_unique<engine::LeaseServiceFactory>(make_redis_store(options, runtime), runtime,
                                                       options.contention);
}

std::shared_ptr<engine::LeaseStore> make_redis_store(const RedisOptions& options,
                                                     std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a Redis store needs a runtime"};
  auto settings = checked_settings(options, runtime->log);
  RedisOptions checked = options;
  checked.connect_timeout = settings->connect_timeout;
  return std::make_shared<RedisStore>(std::move(checked), std::move(settings), runtime,
                                      [runtime] { return make_session_io(*runtime); });
}

}  // namespace simba::redis
