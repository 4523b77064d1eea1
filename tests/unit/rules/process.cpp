#include "unit/rules/process.hpp"

#include <deque>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace simba::rules {

using namespace std::chrono_literals;
using engine::AnswerHandler;
using engine::LeaseRequest;
using engine::NoticeHandler;
using std::chrono::milliseconds;

/// A store that the requests of a contender reach in their order, but not always at once: between
/// the decision to send one and its way into the store anything may happen.
class LateStore final : public engine::LeaseStore, public std::enable_shared_from_this<LateStore> {
 public:
  LateStore(std::shared_ptr<engine::LeaseStore> store, std::shared_ptr<Host> host)
      : store_{std::move(store)}, host_{std::move(host)} {}

  NameLimits name_limits() const noexcept override { return store_->name_limits(); }
  engine::OwnerWatch owner_watch() const noexcept override { return store_->owner_watch(); }
  WorstCases worst_cases(const ContentionPlan& plan) const override {
    return store_->worst_cases(plan);
  }
  void check_names(std::string_view mutex, std::string_view contender_id) const override {
    store_->check_names(mutex, contender_id);
  }
  std::shared_ptr<void> attach() override { return store_->attach(); }

  void acquire(const LeaseRequest& request, AnswerHandler handler) override {
    send(request, [store = store_, request, handler = std::move(handler)] {
      store->acquire(request, handler);
    });
  }
  void guard(const LeaseRequest& request, AnswerHandler handler) override {
    send(request, [store = store_, request, handler = std::move(handler)] {
      store->guard(request, handler);
    });
  }
  void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) override {
    send(request, [store = store_, request, token, handler = std::move(handler)] {
      store->release(request, token, handler);
    });
  }
  void retrieve(const LeaseRequest& request, AnswerHandler handler) override {
    store_->retrieve(request, std::move(handler));
  }
  std::unique_ptr<engine::Watch> watch(const LeaseRequest& request,
                                       NoticeHandler handler) override {
    return store_->watch(request, std::move(handler));
  }

  void hold(const std::string& id) { lines_[id].held = true; }
  std::size_t held(const std::string& id) { return lines_[id].waiting.size(); }
  void let_go(const std::string& id) {
    Line& line = lines_[id];
    line.held = false;
    while (!line.held && !line.waiting.empty()) {
      const auto send = std::move(line.waiting.front());
      line.waiting.pop_front();
      send();
    }
  }

 private:
  struct Line {
    bool held = false;
    std::deque<std::function<void()>> waiting{};
  };

  void send(const LeaseRequest& request, std::function<void()> task) {
    World& world = host_->actor->world();
    Line& line = lines_[request.contender_id];
    if (!line.held && world.rough && world.chance(30)) {
      line.held = true;
      const auto late = world.between(0ms, world.chance(700) ? 5ms : 200ms);
      host_->actor->at(Actor::Lane::loop, world.now() + late,
                       [weak = weak_from_this(), id = request.contender_id] {
                         if (const auto self = weak.lock()) self->let_go(id);
                       });
    }
    if (line.held || !line.waiting.empty()) {
      line.waiting.push_back(std::move(task));
    } else {
      task();
    }
  }

  const std::shared_ptr<engine::LeaseStore> store_;
  const std::shared_ptr<Host> host_;
  std::map<std::string, Line> lines_;  // by contender id
};

ContentionOptions contention_options(World& world, milliseconds ttl, milliseconds transition) {
  ContentionOptions options;
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

void Process::use(std::shared_ptr<engine::LeaseStore> store, const ContentionOptions& options) {
  store_ = std::make_shared<LateStore>(std::move(store), host_);
  factory_ = std::make_unique<engine::LeaseServiceFactory>(store_, host_->runtime, options);
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

void Process::hold_requests(const Member& member) {
  store_->hold(member.contender->contender_id());
}

std::size_t Process::held_requests(const Member& member) const {
  return store_->held(member.contender->contender_id());
}

void Process::send_held_requests(const Member& member) {
  store_->let_go(member.contender->contender_id());
}

}  // namespace simba::rules
