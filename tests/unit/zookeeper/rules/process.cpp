#include "unit/zookeeper/rules/process.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "unit/zookeeper/rules/sim_client.hpp"
#include "zookeeper/zookeeper_store.hpp"

namespace simba::zookeeper::rules {

using namespace std::chrono_literals;
using engine::AnswerHandler;
using engine::LeaseAnswer;
using engine::LeaseRecord;
using engine::LeaseRequest;
using engine::Notice;
using engine::NoticeHandler;
using std::chrono::milliseconds;

namespace {

constexpr const char* root = "/simba";

Settings settings_for(const Network& network, OnDisconnect on_disconnect,
                      milliseconds session_timeout) {
  Settings settings;
  settings.root = root;
  settings.session_timeout = session_timeout;
  settings.connection_timeout = 500ms;
  settings.tick_time = network.ensemble().config().tick;
  settings.on_disconnect = on_disconnect;
  return settings;
}

/// The store, and a note of everything that it says, for the one who has to understand a failure.
class NotedStore final : public engine::LeaseStore {
 public:
  NotedStore(World& world, std::shared_ptr<ZooKeeperStore> store)
      : world_{world}, store_{std::move(store)} {}

  NameLimits name_limits() const noexcept override { return store_->name_limits(); }
  engine::OwnerWatch owner_watch() const noexcept override { return store_->owner_watch(); }
  std::shared_ptr<void> attach() override { return store_->attach(); }
  void acquire(const LeaseRequest& request, AnswerHandler handler) override {
    store_->acquire(request, noted("acquire", request, std::move(handler)));
  }
  void guard(const LeaseRequest& request, AnswerHandler handler) override {
    store_->guard(request, noted("guard", request, std::move(handler)));
  }
  void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) override {
    store_->release(request, token, noted("release", request, std::move(handler)));
  }
  void retrieve(const LeaseRequest& request, AnswerHandler handler) override {
    store_->retrieve(request, std::move(handler));
  }
  std::unique_ptr<engine::Watch> watch(const LeaseRequest& request,
                                       NoticeHandler handler) override {
    if (request.contender_id.empty()) return store_->watch(request, std::move(handler));
    return store_->watch(request, [this, id = request.contender_id,
                                   handler = std::move(handler)](const Notice& notice) {
      constexpr std::array kinds{"changed", "granted", "suspended", "revoked"};
      world_.note(
          fmt::format("{} is told: {}", id, kinds.at(static_cast<std::size_t>(notice.kind))));
      handler(notice);
    });
  }

 private:
  AnswerHandler noted(const char* what, const LeaseRequest& request, AnswerHandler handler) {
    world_.note(fmt::format("{} asks to {}", request.contender_id, what));
    return [this, what, id = request.contender_id,
            handler = std::move(handler)](const LeaseAnswer& answer) {
      const LeaseRecord* record = answer.record();
      world_.note(fmt::format(
          "{} {}: {}", id, what,
          record == nullptr ? answer.error()->what()
                            : fmt::format("[{}] {}", record->owner_id, record->fencing_token)));
      handler(answer);
    };
  }

  World& world_;
  const std::shared_ptr<ZooKeeperStore> store_;
};

}  // namespace

std::string folder_of(const std::string& mutex) { return std::string{root} + "/" + mutex; }

ZooKeeperProcess::ZooKeeperProcess(Network& network, std::string name, int drift_ppm,
                                   OnDisconnect on_disconnect, milliseconds session_timeout)
    : Process{network.world(), std::move(name), drift_ppm} {
  World& world = network.world();
  const milliseconds ttl = session_timeout * 2 / 3;
  use(std::make_shared<NotedStore>(
          world, std::make_shared<ZooKeeperStore>(
                     settings_for(network, on_disconnect, session_timeout),
                     std::make_shared<SimConnector>(network, shared_host()), host().runtime)),
      simba::rules::contention_options(world, ttl, session_timeout - ttl));
}

}  // namespace simba::zookeeper::rules
