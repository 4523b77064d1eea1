#include "unit/redis/rules/process.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "redis/redis_store.hpp"

namespace simba::redis::rules {

using namespace std::chrono_literals;
using engine::AnswerHandler;
using engine::LeaseAnswer;
using engine::LeaseRequest;
using engine::Notice;
using engine::NoticeHandler;
using std::chrono::milliseconds;

namespace {

/// How much longer the machine believes a lease to be that counts from the reply.
constexpr milliseconds too_long = 2s;

/// A store, and what is broken about it.
class BrokenStore final : public engine::LeaseStore {
 public:
  BrokenStore(std::shared_ptr<engine::LeaseStore> store, std::shared_ptr<const Runtime> runtime,
              Mutation mutation)
      : store_{std::move(store)}, runtime_{std::move(runtime)}, mutation_{mutation} {}

  NameLimits name_limits() const noexcept override { return store_->name_limits(); }
  std::shared_ptr<void> attach() override { return store_->attach(); }
  void acquire(const LeaseRequest& request, AnswerHandler handler) override {
    store_->acquire(truly(request), seen(std::move(handler)));
  }
  void guard(const LeaseRequest& request, AnswerHandler handler) override {
    store_->guard(truly(request), seen(std::move(handler)));
  }
  void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) override {
    store_->release(truly(request), token, seen(std::move(handler)));
  }
  void retrieve(const LeaseRequest& request, AnswerHandler handler) override {
    store_->retrieve(truly(request), seen(std::move(handler)));
  }

  std::unique_ptr<engine::Watch> watch(const LeaseRequest& request,
                                       NoticeHandler handler) override {
    const auto began = std::make_shared<bool>(false);  // the call is over
    auto watch =
        store_->watch(truly(request), [this, handler = std::move(handler), began](Notice notice) {
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

  AnswerHandler seen(AnswerHandler handler) {
    return [this, handler = std::move(handler), sent = runtime_->clock->now()](auto answer) {
      handler(changed(std::move(answer), sent));
    };
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

  const std::shared_ptr<engine::LeaseStore> store_;
  const std::shared_ptr<const Runtime> runtime_;
  const Mutation mutation_;
};

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  if (at == std::string::npos) {
    throw std::logic_error{"no script has this any more: " + std::string{what}};
  }
  return text.replace(at, what.size(), with);
}

ContentionOptions options_for(World& world, Mutation mutation) {
  auto options = simba::rules::contention_options(world, 600ms, 400ms);
  if (mutation == Mutation::leases_count_from_reply) {
    options.ttl += too_long;
    options.renew_at_percent = 14;  // as early as without it
  }
  return options;
}

}  // namespace

std::string mutated(Mutation mutation, Script script, const std::string& text) {
  const bool has_line = script == Script::acquire || script == Script::release;
  if (mutation == Mutation::release_ignores_token && script == Script::release) {
    return replaced(text, "last.token == token", "true");
  }
  if (mutation == Mutation::guard_ignores_owner && script == Script::guard) {
    return replaced(text, "if id == '' or owner ~= id then", "if id == '' then");
  }
  if (mutation == Mutation::everyone_is_heard && has_line) {
    return replaced(text, "return inbox ~= '-' and redis.call('PUBSUB', 'NUMSUB', inbox)[2] > 0",
                    "return true");
  }
  if (mutation == Mutation::the_dead_stay_in_the_jvm_queue && has_line) {
    return replaced(text, "if #deaf > 0 then", "if false then");
  }
  return text;
}

RedisProcess::RedisProcess(World& world, Network& network, std::string name, int drift_ppm,
                           Subscriptions::Grants grants, Mutation mutation)
    : Process{world, std::move(name), drift_ppm} {
  const auto& host = shared_host();
  RedisOptions options;
  if (grants == Subscriptions::Grants::are_hints) options.wait_replicas = 1;
  std::shared_ptr<engine::LeaseStore> store =
      std::make_shared<RedisStore>(options, network.settings, host->runtime, [&network, host] {
        return SessionIo{.post =
                             [actor = host->actor](auto task) {
                               actor->at(Actor::Lane::loop, actor->world().now(), std::move(task));
                             },
                         .open = network.opener(host),
                         .stop = [] {}};
      });
  if (mutation != Mutation::none) {
    store = std::make_shared<BrokenStore>(std::move(store), host->runtime, mutation);
  }
  use(std::move(store), options_for(world, mutation));
}

}  // namespace simba::redis::rules
