#include "redis/waiting/subscriptions.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "redis/protocol/command.hpp"
#include "redis/protocol/keys.hpp"
#include "redis/protocol/server_error.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using engine::Notice;
using std::chrono::nanoseconds;

constexpr nanoseconds longest_interval = 1s;
constexpr nanoseconds shortest_interval = 20ms;

/// How long a subscription stays when nobody needs it. A contender that takes turns with others
/// comes back within it, and then neither subscribes nor looks twice.
constexpr nanoseconds linger = 2s;

/// Anyone may publish on our channels; that must not fill the log.
constexpr nanoseconds warning_pause = 10s;

/// How far tokens may be ahead of the server's clock as it was last told. They are microseconds of
/// it, unless it was set back.
constexpr std::chrono::microseconds token_allowance = 60s;

/// How many secrets are remembered that nobody waits under any more.
constexpr std::size_t most_retired = 1'000;

/// SUBSCRIBE in pieces: one command with a hundred thousand names would hold up the server.
constexpr std::size_t names_per_command = 500;

std::string new_inbox(Random& random) {
  return fmt::format("simba:inbox:{:016x}{:016x}", random.next(), random.next());
}

void append_channels(std::string_view command, const std::vector<std::string_view>& channels,
                     std::string& out) {
  for (std::size_t i = 0; i < channels.size(); i += names_per_command) {
    std::vector<std::string_view> words{command};
    const auto end = std::min(i + names_per_command, channels.size());
    words.insert(words.end(), channels.begin() + static_cast<std::ptrdiff_t>(i),
                 channels.begin() + static_cast<std::ptrdiff_t>(end));
    append_command(out, words);
  }
}

}  // namespace

Subscriptions::Subscriptions(std::shared_ptr<Random> random, Grants grants)
    : random_{std::move(random)}, grants_{grants} {}

// ---- those who wait or observe ------------------------------------------------------------------

Subscriptions::WatchId Subscriptions::add(const engine::LeaseRequest& request,
                                          engine::NoticeHandler handler, LocalTime now,
                                          Effects& effects) {
  const WatchId id = ++last_watch_;
  Entry& entry = entry_for(request, now, effects);
  const auto shared = std::make_shared<const engine::NoticeHandler>(std::move(handler));
  entry.handlers.emplace(id, shared);
  entry.unused_since = never;
  watches_.emplace(id, &entry);
  if (entry.grant) {
    effects.deliveries.push_back({.handler = shared, .notice = entry.grant->notice});
    entry.grant.reset();
  } else if (is_ready(entry) && !entry.covered) {
    effects.deliveries.push_back({.handler = shared, .notice = {}});
  }
  return id;
}

void Subscriptions::remove(WatchId id, LocalTime now) {
  const auto watch = watches_.find(id);
  if (watch == watches_.end()) return;
  Entry& entry = *watch->second;
  watches_.erase(watch);
  entry.handlers.erase(id);
  entry.covered = false;
  if (entry.handlers.empty()) entry.unused_since = now;
}

Place Subscriptions::place_for(const std::string& mutex, const std::string& contender_id,
                               LocalTime now) {
  const auto found = entries_.find({mutex, contender_id});
  if (found == entries_.end()) return {};
  Entry& entry = *found->second;
  if (entry.handlers.empty()) {
    // A new wait, perhaps of another service: what was granted to the one before is not for it.
    entry.grant.reset();
    entry.unused_since = now;
    retire(entry);
    entry.secret.clear();
  }
  entry.covered = is_ready(entry);
  if (!entry.covered) return {};
  if (entry.secret.empty()) give_secret(entry);
  return {.inbox = inbox_, .secret = entry.secret};
}

Subscriptions::Entry& Subscriptions::entry_for(const engine::LeaseRequest& request, LocalTime now,
                                               Effects& effects) {
  auto& slot = entries_[{request.mutex, request.contender_id}];
  if (slot) return *slot;
  slot = std::make_unique<Entry>();
  Entry& entry = *slot;
  entry.mutex = request.mutex;
  entry.contender_id = request.contender_id;
  if (entry.contender_id.empty()) {
    entry.channels = {lock_name(entry.mutex), releases_channel(entry.mutex)};
  } else {
    entry.channels = {waiter_channel(entry.mutex, entry.contender_id)};
    const nanoseconds lease = request.ttl + request.transition;
    entry.interval = std::clamp(lease / 16, shortest_interval, longest_interval);
    intervals_.insert(entry.interval);
  }
  std::vector<std::string_view> to_ask;
  for (const std::string& name : entry.channels) {
    Channel& channel = channels_[name];
    channel.users.push_back(&entry);
    if (channel.users.size() == 1) to_ask.push_back(name);
  }
  if (connected_) {
    subscribe(to_ask, effects);
    if (ping_is_due(now)) ping(now, effects);
  }
  return entry;
}

void Subscriptions::give_secret(Entry& waiter) {
  waiter.secret = fmt::format("{:020}{:020}", random_->next(), random_->next());
  waiters_.emplace(waiter.secret, &waiter);
}

void Subscriptions::retire(const Entry& waiter) {
  if (waiters_.erase(waiter.secret) == 0) return;
  retired_.push_back({waiter.secret, waiter.mutex, waiter.contender_id});
  if (retired_.size() > most_retired) retired_.pop_front();
}

void Subscriptions::drop(std::map<Key, std::unique_ptr<Entry>>::iterator entry, Effects& effects) {
  if (const auto& grant = entry->second->grant) {
    effects.unclaimed.push_back({.mutex = entry->second->mutex,
                                 .contender_id = entry->second->contender_id,
                                 .token = grant->token});
  }
  std::vector<std::string_view> unused;
  for (const std::string& name : entry->second->channels) {
    const auto channel = channels_.find(name);
    std::erase(channel->second.users, entry->second.get());
    if (!channel->second.users.empty()) continue;
    channels_.erase(channel);
    unused.push_back(name);
  }
  if (connected_) append_channels("UNSUBSCRIBE", unused, effects.commands);
  if (!entry->second->contender_id.empty()) {
    intervals_.erase(intervals_.find(entry->second->interval));
  }
  retire(*entry->second);
  entries_.erase(entry);
}

bool Subscriptions::is_ready(const Entry& entry) const {
  return inbox_ready_ &&
         std::all_of(entry.channels.begin(), entry.channels.end(),
                     [&](const auto& name) { return channels_.at(name).confirmed; });
}

void Subscriptions::tell(const Entry& entry, const Notice& notice, Effects& effects) {
  for (const auto& [id, handler] : entry.handlers) {
    effects.deliveries.push_back({.handler = handler, .notice = notice});
  }
}

// ---- the connection -----------------------------------------------------------------------------

void Subscriptions::connected(LocalTime now, Effects& effects) {
  disconnected();
  connected_ = true;
  inbox_ = new_inbox(*random_);
  std::vector<std::string_view> names{inbox_};
  for (const auto& [name, channel] : channels_) names.push_back(name);
  subscribe(names, effects);
  ping(now, effects);
}

void Subscriptions::disconnected() {
  connected_ = false;
  inbox_.clear();
  inbox_ready_ = false;
  asked_.clear();
  pings_.clear();
  pinged_at_.reset();
  heard_.reset();
  for (auto& [name, channel] : channels_) channel.confirmed = false;
  Effects nothing_to_send;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    entry->second->covered = false;
    entry->second->secret.clear();
    if (entry->second->handlers.empty()) drop(entry, nothing_to_send);
    entry = next;
  }
  // A grant that was lost with the connection may have told a secret to others.
  waiters_.clear();
  retired_.clear();
}

void Subscriptions::subscribe(const std::vector<std::string_view>& channels, Effects& effects) {
  for (const auto name : channels) ++asked_[std::string{name}];
  append_channels("SUBSCRIBE", channels, effects.commands);
}

nanoseconds Subscriptions::interval() const noexcept {
  return intervals_.empty() ? longest_interval : *intervals_.begin();
}

bool Subscriptions::ping_is_due(LocalTime now) const {
  return !pinged_at_ || now - *pinged_at_ >= interval();
}

void Subscriptions::ping(LocalTime now, Effects& effects) {
  pings_.push_back(now);
  pinged_at_ = now;
  effects.commands += command({"PING"});
}

void Subscriptions::received(const Reply& reply, std::string_view where, LocalTime now,
                             Effects& effects) {
  if (!connected_) return;
  if (reply.is(Reply::Type::error)) {
    effects.refused = to_error(parse_server_error(reply.text), where);
    return;
  }
  std::visit([&](const auto& message) { on(message, now, effects); }, parse_message(reply));
}

void Subscriptions::on(const Subscribed& message, LocalTime /*now*/, Effects& effects) {
  const auto asked = asked_.find(message.channel);
  if (asked == asked_.end()) return;
  if (--asked->second > 0) return;  // given up and asked for again meanwhile
  asked_.erase(asked);
  if (message.channel == inbox_) {
    inbox_ready_ = true;
    return;
  }
  const auto channel = channels_.find(message.channel);
  if (channel == channels_.end()) return;
  channel->second.confirmed = true;
  for (const Entry* entry : channel->second.users) {
    if (is_ready(*entry)) tell(*entry, {}, effects);
  }
}

void Subscriptions::on(const Unsubscribed& /*message*/, LocalTime /*now*/, Effects& /*effects*/) {}

void Subscriptions::on(const Pong& /*message*/, LocalTime /*now*/, Effects& /*effects*/) {
  if (pings_.empty()) return;
  heard_ = pings_.front();
  pings_.pop_front();
}

void Subscriptions::on(const Unknown& message, LocalTime now, Effects& effects) {
  warn(fmt::format("ignored an unexpected message from a Redis server: {}", message.what), now,
       effects);
}

void Subscriptions::on(const Published& message, LocalTime now, Effects& effects) {
  const Payload payload = parse_payload(message.payload);
  if (const auto* unknown = std::get_if<Unknown>(&payload)) {
    warn(fmt::format("ignored a foreign message on one of Simba's channels: {}", unknown->what),
         now, effects);
    return;
  }
  const auto* grant = std::get_if<Grant>(&payload);
  if ((grant != nullptr) != (message.channel == inbox_)) {
    warn("ignored a message on the wrong channel", now, effects);
    return;
  }
  if (grant != nullptr) {
    granted(*grant, now, effects);
    return;
  }
  const auto channel = channels_.find(message.channel);
  if (channel == channels_.end()) return;
  for (Entry* entry : channel->second.users) {
    entry->covered = false;  // of use to a watch that is about to begin
    tell(*entry, {}, effects);
  }
}

void Subscriptions::granted(const Grant& grant, LocalTime now, Effects& effects) {
  const auto waiter = waiters_.find(grant.secret);
  if (waiter == waiters_.end()) {
    // It stopped, and the server has not heard of it or hears of it too late.
    const auto retired = std::find_if(retired_.begin(), retired_.end(), [&](const auto& past) {
      return past.secret == grant.secret;
    });
    if (retired == retired_.end()) {
      warn("ignored a grant to an unknown waiter", now, effects);
      return;
    }
    effects.unclaimed.push_back({retired->mutex, retired->contender_id, grant.token});
    retired_.erase(retired);
    return;
  }
  Entry& entry = *waiter->second;
  waiters_.erase(waiter);
  entry.secret.clear();
  if (entry.handlers.empty() && !entry.covered) {
    effects.unclaimed.push_back({entry.mutex, entry.contender_id, grant.token});
    return;
  }
  Notice notice;
  if (!is_explained(grant.token, now)) {
    warn("the token of a grant does not match the server's clock; asking the server", now, effects);
  } else if (grants_ == Grants::count && heard_) {
    notice.kind = Notice::Kind::granted;
    engine::LeaseRecord& record = notice.record.emplace();
    record.owner_id = entry.contender_id;
    record.fencing_token = grant.token;
    record.ttl_left = grant.ttl;
    record.transition_left = grant.ttl + grant.transition;
    record.lease = {.acquired_at = grant.at,
                    .ttl_at = grant.at + grant.ttl,
                    .transition_at = grant.at + grant.ttl + grant.transition};
    record.counted_from = heard_;
  }
  if (entry.handlers.empty()) {
    entry.grant = {.token = grant.token, .notice = notice};
  } else {
    tell(entry, notice, effects);
  }
}

bool Subscriptions::is_explained(FencingToken token, LocalTime now) const {
  if (!server_time_) return false;
  const auto& [time, told_at] = *server_time_;
  const auto since = std::chrono::floor<std::chrono::microseconds>(now - told_at);
  const std::chrono::microseconds latest = time.time_since_epoch() + since + token_allowance;
  return token <= static_cast<FencingToken>(latest.count());
}

void Subscriptions::warn(std::string text, LocalTime now, Effects& effects) {
  if (now < quiet_until_) return;
  quiet_until_ = now + warning_pause;
  effects.warnings.push_back(std::move(text));
}

// ---- time ---------------------------------------------------------------------------------------

void Subscriptions::tick(LocalTime now, Effects& effects) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    const LocalTime unused_since = entry->second->unused_since;
    if (unused_since != never && now - unused_since >= linger) drop(entry, effects);
    entry = next;
  }
  if (connected_ && !entries_.empty() && ping_is_due(now)) ping(now, effects);
}

}  // namespace simba::redis
