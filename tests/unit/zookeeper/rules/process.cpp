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

/// Where there is no margin, the allowance for clocks that go wrong must do.
engine::ContentionOptions options_for(World& world, milliseconds session_timeout) {
  engine::ContentionOptions options;
  options.ttl = session_timeout * 2 / 3;
  options.transition = session_timeout - options.ttl;
  options.margin = world.chance(400) ? 0ms : 50ms;
  options.jitter = {-20ms, 50ms};
  options.release_wait = 0ms;
  options.drain_limit = 5s;
  return options;
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

Process::Process(Network& network, std::string name, int drift_ppm, OnDisconnect on_disconnect,
                 milliseconds session_timeout)
    : host_{std::make_shared<Host>()} {
  World& world = network.world();
  host_->name = std::move(name);
  host_->actor = std::make_shared<Actor>(world);
  host_->runtime = make_process_runtime(host_->actor, drift_ppm, make_null_logger());
  factory_ = std::make_unique<engine::LeaseServiceFactory>(
      std::make_shared<NotedStore>(
          world, std::make_shared<ZooKeeperStore>(
                     settings_for(network, on_disconnect, session_timeout),
                     std::make_shared<SimConnector>(network, host_), host_->runtime)),
      host_->runtime, options_for(world, session_timeout));
}

Process::~Process() {
  observer_.reset();
  members_.clear();
}

void Process::add(const std::string& mutex, const std::string& id, AfterLoss after_loss) {
  Member& member = members_.emplace_back();
  member.stays_out = after_loss == AfterLoss::stay_out;
  member.contender = std::make_unique<testkit::RecordingContender>(mutex, id);
  member.service =
      factory_->create_mutex_contend_service(*member.contender, {.after_loss = after_loss});
}

void Process::observe(const std::string& mutex) {
  retriever_ = std::make_unique<testkit::RecordingRetriever>(mutex);
  observer_ = factory_->create_mutex_retrieval_service(*retriever_);
  observer_->start();
}

void Process::start(Member& member) {
  World& world = actor().world();
  world.note(member.contender->contender_id() + " starts");
  member.running_since = world.now();
  member.service->start();
}

void Process::stop(Member& member) {
  World& world = actor().world();
  world.note(member.contender->contender_id() + " stops");
  member.running_since = never;
  member.service->stop();
  world.note(member.contender->contender_id() + " has stopped");
}

}  // namespace simba::zookeeper::rules
