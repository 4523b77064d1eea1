#include "unit/rules/process.hpp"

#include <utility>

namespace simba::rules {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

engine::ContentionOptions contention_options(World& world, milliseconds ttl,
                                             milliseconds transition) {
  engine::ContentionOptions options;
  options.ttl = ttl;
  options.transition = transition;
  options.margin = world.chance(400) ? 0ms : 50ms;
  options.jitter = {-20ms, 50ms};
  options.release_wait = 0ms;
  options.drain_limit = 5s;
  return options;
}

Process::Process(World& world, std::string name, int drift_ppm) : host_{std::make_shared<Host>()} {
  host_->name = std::move(name);
  host_->actor = std::make_shared<Actor>(world);
  host_->runtime = make_process_runtime(host_->actor, drift_ppm, make_null_logger());
}

void Process::use(std::shared_ptr<engine::LeaseStore> store,
                  const engine::ContentionOptions& options) {
  factory_ =
      std::make_unique<engine::LeaseServiceFactory>(std::move(store), host_->runtime, options);
}

void Process::leave() {
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

}  // namespace simba::rules
