#include <utility>

#include "config/keys/common_keys.hpp"
#include "config/messages.hpp"
#include "config/stores/stores.hpp"
#include "simba/core/error.hpp"
#include "simba/memory/memory_factory.hpp"

namespace simba::config {
namespace {

class MemoryOptions final : public WithOptions<memory::MemoryFactoryOptions> {
 public:
  MemoryOptions() { bind_contention(keys_, options_.contention); }

  std::string description() const override { return "memory:"; }
  ContentionPlan plan() const override { return ContentionPlan{options_.contention}; }
  std::shared_ptr<engine::LeaseStore> make_store() const override {
    return std::make_shared<memory::MemoryStore>(idle_runtime()->clock);
  }

  std::unique_ptr<MutexServiceFactory> make_factory(
      std::shared_ptr<const Runtime> runtime) const override {
    auto options = options_;
    options.runtime = std::move(runtime);
    return memory::make_memory_factory(std::move(options));
  }

  std::unique_ptr<engine::StoreAdmin> make_admin(
      std::shared_ptr<const Runtime> /*runtime*/) const override {
    throw Error{
        ErrorKind::unsupported,
        "the store \"memory\" exists inside one process only; other processes cannot see it"};
  }
};

}  // namespace

std::unique_ptr<StoreOptions> make_memory_options() { return std::make_unique<MemoryOptions>(); }

std::vector<Parameter> read_memory_url(const Url& url) {
  if (!url.path.empty()) {
    refuse("memory: may be followed by parameters only, for example ?ttl=10s");
  }
  return {};
}

}  // namespace simba::config
