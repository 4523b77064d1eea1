#include "unit/redis/rules/jvm_like.hpp"

#include <utility>

#include "redis/protocol/command.hpp"
#include "redis/protocol/keys.hpp"
#include "unit/redis/rules/process.hpp"

namespace simba::redis::rules {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds ttl = 600ms;
constexpr milliseconds jvm_lease = 1'000ms;

/// Put before each script: as the JVM library has it, what is declared is only a hash tag.
constexpr const char* names = R"(
local lock = 'simba:' .. KEYS[1]
local queue = lock .. ':contender')";

constexpr const char* acquire = R"(
if redis.call('SET', lock, ARGV[1], 'NX', 'PX', ARGV[2]) then
  redis.call('PUBLISH', lock, 'acquired@@' .. ARGV[1])
  return { ARGV[1], tonumber(ARGV[2]) }
end
redis.call('ZADD', queue, 'NX', redis.call('TIME')[1], ARGV[1])
return { redis.call('GET', lock), redis.call('PTTL', lock) })";

constexpr const char* guard = R"(
if redis.call('GET', lock) ~= ARGV[1] then
  return { '', 0 }
end
redis.call('SET', lock, ARGV[1], 'XX', 'PX', ARGV[2])
return { ARGV[1], tonumber(ARGV[2]) })";

constexpr const char* release = R"(
if redis.call('GET', lock) ~= ARGV[1] then
  redis.call('ZREM', queue, ARGV[1])
  return { '', 0 }
end
redis.call('DEL', lock)
local first = redis.call('ZRANGE', queue, 0, 0)[1]
if first then
  redis.call('ZREM', queue, first)
  redis.call('PUBLISH', lock .. ':' .. first, 'released@@' .. ARGV[1])
end
return { '', 0 })";

}  // namespace

JvmLike::JvmLike(World& world, Network& network, std::string name, std::string mutex)
    : world_{world},
      host_{std::make_shared<Host>()},
      open_{network.opener(host_)},
      settings_{network.settings},
      mutex_{std::move(mutex)} {
  host_->name = std::move(name);
  host_->actor = std::make_shared<Actor>(world);
  host_->runtime = make_process_runtime(host_->actor, 0, make_null_logger());
}

void JvmLike::start() {
  id_ = host_->name + "-" + std::to_string(++lives_);
  world_.note(id_ + " starts");
  running_ = true;
  running_since_ = world_.now();
  owner_ = false;
  listen();
}

void JvmLike::stop() {
  world_.note(id_ + " stops");
  running_ = false;
  ++planned_;
  asking_ = false;
  told_ = false;
  owner_ = false;
  evaluate(release, [](const Reply*) {});
  if (messages_) messages_->close();
  messages_.reset();
}

void JvmLike::listen() {
  const std::weak_ptr<JvmLike> weak = weak_from_this();
  const std::string channel = waiter_channel(mutex_, id_);
  messages_ = open_(Endpoint{}, settings_, Connection::Use::subscriptions,
                    {.on_ready = {},
                     .on_message =
                         [weak](const Reply& /*reply*/) {  // confirmed, or told to try
                           const auto self = weak.lock();
                           if (self && self->running_ && !self->is_owner()) self->ask();
                         },
                     .on_closed =
                         [weak, life = lives_](const Error&) {
                           const auto self = weak.lock();
                           if (!self || !self->running_ || self->lives_ != life) return;
                           self->messages_.reset();
                           self->later(50ms, &JvmLike::listen);
                         }});
  messages_->send(command({"SUBSCRIBE", channel}), 0, {});
}

void JvmLike::ask() {
  if (!running_) return;
  told_ = asking_;
  if (std::exchange(asking_, true)) return;
  const bool renewal = is_owner();
  evaluate(renewal ? guard : acquire,
           [weak = weak_from_this(), renewal, lives = lives_](const Reply* reply) {
             const auto self = weak.lock();
             if (self && self->running_ && self->lives_ == lives) self->answered(renewal, reply);
           });
}

void JvmLike::answered(bool renewal, const Reply* reply) {
  asking_ = false;
  if (reply == nullptr || !reply->is(Reply::Type::array)) {
    later(30ms, &JvmLike::ask);
    return;
  }
  const milliseconds left{reply->elements.at(1).integer};
  if (reply->elements.at(0).text == id_) {
    owner_ = true;
    later(ttl / 2, &JvmLike::ask);
    return;
  }
  owner_ = false;
  const bool at_once = renewal || std::exchange(told_, false);
  later(at_once ? 0ms : left + world_.between(-20ms, 100ms), &JvmLike::ask);
}

void JvmLike::later(std::chrono::nanoseconds delay, void (JvmLike::*what)()) {
  const auto plan = what == &JvmLike::ask ? ++planned_ : 0;
  host_->actor->at(Actor::Lane::timers, world_.now() + delay,
                   [weak = weak_from_this(), what, plan, lives = lives_] {
                     const auto self = weak.lock();
                     if (!self || !self->running_ || self->lives_ != lives) return;
                     if (plan == 0 || plan == self->planned_) ((*self).*what)();
                   });
}

void JvmLike::evaluate(const char* script, Handler handler) {
  if (!commands_) {
    commands_ = open_(
        Endpoint{}, settings_, Connection::Use::commands,
        {.on_ready = {}, .on_message = {}, .on_closed = [weak = weak_from_this()](const Error&) {
           if (const auto self = weak.lock()) self->commands_.reset();
         }});
  }
  const std::string text = std::string{names} + script;
  const std::string declared = "{" + mutex_ + "}";
  commands_->send(command({"EVAL", text, "1", declared, id_, std::to_string(jvm_lease.count())}), 1,
                  [handler = std::move(handler)](const Replies& replies) {
                    const auto* list = std::get_if<std::vector<Reply>>(&replies);
                    handler(list == nullptr ? nullptr : &list->front());
                  });
}

}  // namespace simba::redis::rules
