#include "unit/redis/rules/process.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "redis/routed_watches.hpp"
#include "redis/script_request.hpp"

namespace simba::redis::rules {

using namespace std::chrono_literals;
using engine::AnswerHandler;
using engine::LeaseAnswer;
using engine::LeaseRequest;
using engine::Notice;
using engine::NoticeHandler;
using std::chrono::milliseconds;
using Kind = ScriptRequest::Kind;

namespace {

/// How much longer the machine believes a lease to be that counts from the reply.
constexpr milliseconds too_long = 2s;

class OnePlace final : public EndpointSource {
 public:
  void find(EndpointHandler handler) override { handler(Endpoint{}); }
};

/// What RedisStore does, over the router that it is given; and what is broken.
class SimStore final : public engine::LeaseStore {
 public:
  SimStore(std::shared_ptr<const RequestContext> context, std::shared_ptr<const Runtime> runtime,
           Mutation mutation)
      : context_{std::move(context)}, runtime_{std::move(runtime)}, mutation_{mutation} {}

  NameLimits name_limits() const noexcept override { return {}; }
  void acquire(const LeaseRequest& request, AnswerHandler handler) override {
    send(Kind::acquire, request, 0, std::move(handler));
  }
  void guard(const LeaseRequest& request, AnswerHandler handler) override {
    send(Kind::guard, request, 0, std::move(handler));
  }
  void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) override {
    send(Kind::release, request, token, std::move(handler));
  }
  void retrieve(const LeaseRequest& request, AnswerHandler handler) override {
    send(Kind::retrieve, request, 0, std::move(handler));
  }

  std::unique_ptr<engine::Watch> watch(const LeaseRequest& request,
                                       NoticeHandler handler) override {
    const auto began = std::make_shared<bool>(false);  // the call is over
    auto watch = watches_->add(context_->router, truly(request),
                               [this, handler = std::move(handler), began](Notice notice) {
                                 if (!is_swallowed(notice, *began)) handler(changed(notice));
                               });
    *began = true;
    return watch;
  }

 private:
  LeaseRequest truly(LeaseRequest request) const {
    if (mutation_ == Mutation::leases_count_from_reply) request.ttl -= too_long;
    return request;
  }

  void send(Kind kind, const LeaseRequest& request, FencingToken token, AnswerHandler handler) {
    AnswerHandler seen = handler;
    if (mutation_ != Mutation::none) {
      seen = [this, handler = std::move(handler), sent = runtime_->clock->now()](auto answer) {
        handler(changed(std::move(answer), sent));
      };
    }
    std::make_shared<ScriptRequest>(context_, kind, truly(request), token, std::move(seen))->send();
  }

  LeaseAnswer changed(LeaseAnswer answer, LocalTime sent) {
    if (answer.record() == nullptr) return answer;
    engine::LeaseRecord record = *answer.record();
    if (mutation_ == Mutation::leases_count_from_reply && !record.owner_id.empty()) {
      const auto passed = std::chrono::floor<milliseconds>(runtime_->clock->now() - sent);
      record.transition_left += passed;
      record.ttl_left += passed;
    }
    return record;
  }

  bool is_swallowed(const Notice& notice, bool began) const {
    if (notice.kind == Notice::Kind::granted) return false;
    return (mutation_ == Mutation::changes_go_unnoticed && !began) ||
           mutation_ == Mutation::no_look_after_subscribing;
  }

  Notice changed(Notice notice) {
    if (notice.kind != Notice::Kind::granted || !notice.record) return notice;
    if (mutation_ == Mutation::grants_count_from_receipt) {
      notice.record->counted_from = runtime_->clock->now();
    }
    return notice;
  }

  const std::shared_ptr<const RequestContext> context_;
  const std::shared_ptr<const Runtime> runtime_;
  const Mutation mutation_;
  const std::shared_ptr<RoutedWatches> watches_ = std::make_shared<RoutedWatches>();
};

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  if (at == std::string::npos) {
    throw std::logic_error{"no script has this any more: " + std::string{what}};
  }
  return text.replace(at, what.size(), with);
}

/// Where there is no margin, the allowance for clocks that go wrong must do.
engine::ContentionOptions options_for(World& world, Mutation mutation) {
  engine::ContentionOptions options;
  options.ttl = 600ms;
  options.transition = 400ms;
  options.margin = world.chance(400) ? 0ms : 50ms;
  options.jitter = {-20ms, 50ms};
  options.release_wait = 0ms;
  options.drain_limit = 5s;
  if (mutation == Mutation::leases_count_from_reply) {
    options.ttl += too_long;
    options.renew_at_percent = 14;  // as early as without it
  }
  return options;
}

}  // namespace

std::string mutated(Mutation mutation, Script script, const std::string& text) {
  if (mutation == Mutation::release_ignores_token && script == Script::release) {
    return replaced(text, "last.token == token", "true");
  }
  if (mutation == Mutation::guard_ignores_owner && script == Script::guard) {
    return replaced(text, "if id == '' or owner ~= id then", "if id == '' then");
  }
  if (mutation == Mutation::everyone_is_heard && script != Script::guard) {
    return replaced(text, "return inbox ~= '-' and redis.call('PUBSUB', 'NUMSUB', inbox)[2] > 0",
                    "return true");
  }
  return text;
}

Process::Process(World& world, Network& network, std::string name, int drift_ppm,
                 Subscriptions::Grants grants, Mutation mutation)
    : host_{std::make_shared<Host>()} {
  host_->name = std::move(name);
  host_->actor = std::make_shared<Actor>(world);
  host_->runtime = make_process_runtime(host_->actor, drift_ppm, make_null_logger());
  const Dialer dialer{
      .runtime = host_->runtime,
      .post = [actor = host_->actor](
                  auto task) { actor->at(Actor::Lane::loop, actor->world().now(), task); },
      .open = network.opener(host_),
      .source = std::make_shared<OnePlace>(),
      .settings = network.settings};
  router_ = std::make_shared<FixedRouter>(std::make_shared<Node>(dialer, grants, Endpoint{}));
  factory_ = std::make_unique<engine::LeaseServiceFactory>(
      std::make_shared<SimStore>(
          std::make_shared<const RequestContext>(RequestContext{.router = router_}), host_->runtime,
          mutation),
      host_->runtime, options_for(world, mutation));
}

Process::~Process() {
  observer_.reset();
  members_.clear();
  router_->close();
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

}  // namespace simba::redis::rules
