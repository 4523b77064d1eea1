#include "sim/world/server.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace simba::sim {

namespace {

// How far back a loss of memory may reach.
constexpr ServerTime journal_span = std::chrono::seconds{2};

}  // namespace

const char* name_of(Call::Kind kind) noexcept {
  constexpr std::array names{"acquire", "guard", "release", "retrieve"};
  return names.at(static_cast<std::size_t>(kind));
}

const char* name_of(TextCall::Kind kind) noexcept {
  return kind == TextCall::Kind::read ? "read" : "write";
}

const char* name_of(Push::Kind kind) noexcept {
  constexpr std::array names{"changed", "renewed", "granted"};
  return names.at(static_cast<std::size_t>(kind));
}

Server::Server(std::size_t mutexes, Offer offer, bool sees_life)
    : offer_{offer}, sees_life_{sees_life}, mutexes_(mutexes) {}

// ---- the rules of leases -------------------------------------------------------------------

Record Server::execute(const Call& call, ServerTime now) {
  Mutex& mutex = mutexes_[call.mutex];
  const Record before = mutex.record;
  if (!sees_life_ || seen_alive(call.client)) carry_out(mutex, call, now);
  if (mutex.record != before) mutex.journal.emplace_back(now, before);
  while (!mutex.journal.empty() && mutex.journal.front().first < now - journal_span) {
    mutex.journal.pop_front();
  }
  return mutex.record;
}

void Server::carry_out(Mutex& mutex, const Call& call, ServerTime now) {
  switch (call.kind) {
    case Call::Kind::acquire:
      acquire(mutex, call, now);
      break;
    case Call::Kind::guard:
      guard(mutex, call, now);
      break;
    case Call::Kind::release:
      release(mutex, call, now);
      break;
    case Call::Kind::retrieve:
      break;
  }
}

void Server::acquire(Mutex& mutex, const Call& call, ServerTime now) {
  const bool free = mutex.record.owner.empty();
  const bool over = now >= mutex.record.transition_at;
  const bool mine = mutex.record.owner == call.contender;
  const bool namesake = mine && mutex.record.instance != call.instance;
  const bool taken_over = mutex.record.token == call.token && !seen_alive(mutex.record.client);
  if (free || over || (mine && (!namesake || taken_over))) {
    wait_no_longer(mutex, call.contender);
    grant(mutex, waiter_of(call), now);
    tell(call.mutex, false);
  } else if (!mine) {
    wait(mutex, call);
  }
}

void Server::guard(Mutex& mutex, const Call& call, ServerTime now) {
  if (mutex.record.instance != call.instance) return;
  if (mutex.record.owner != call.contender) return;
  if (now >= mutex.record.transition_at) {
    mutex.record.owner.clear();
    return;
  }
  mutex.record.ttl_at = now + call.ttl;
  mutex.record.transition_at = now + call.ttl + call.transition;
  if (offer_ == Offer::hints) tell(call.mutex, true, Push::Kind::renewed);
}

void Server::release(Mutex& mutex, const Call& call, ServerTime now) {
  wait_no_longer(mutex, call.contender);
  if (mutex.record.owner != call.contender) return;
  if (mutex.record.token != call.token) return;
  mutex.record.owner.clear();
  mutex.record.transition_at = now;
  mutex.record.ttl_at = now;
  const bool granted = grant_to_waiter(mutex, call, now);
  tell(call.mutex, !granted);
}

// Tokens follow the clock, so that they grow also where some have been forgotten.
void Server::grant(Mutex& mutex, const Waiter& to, ServerTime now) {
  const auto of_clock =
      static_cast<FencingToken>(std::chrono::floor<std::chrono::microseconds>(now).count());
  const bool again = mutex.record.owner == to.contender && mutex.record.instance == to.instance &&
                     now < mutex.record.transition_at;
  mutex.record.token = std::max(mutex.record.token + 1, of_clock);
  if (!again) mutex.record.first = mutex.record.token;
  mutex.record.owner = to.contender;
  mutex.record.instance = to.instance;
  mutex.record.client = to.client;
  mutex.record.acquired_at = now;
  mutex.record.ttl_at = now + to.ttl;
  mutex.record.transition_at = now + to.ttl + to.transition;
}

// ---- the texts beside the mutexes ----------------------------------------------------------

RecordAnswer Server::execute(const TextCall& call, ServerTime now) {
  Mutex& mutex = mutexes_[call.mutex];
  const RecordAnswer::Outcome outcome = judge(mutex, call, now);
  if (outcome == RecordAnswer::Outcome::written) {
    mutex.texts.emplace_back(now, mutex.text);
    mutex.text.text = call.write.text;
    ++mutex.text.version;
    while (mutex.texts.front().first < now - journal_span) mutex.texts.pop_front();
  }
  RecordAnswer answer{outcome, mutex.text};
  answer.record.now = call.now;
  return answer;
}

RecordAnswer::Outcome Server::judge(const Mutex& mutex, const TextCall& call,
                                    ServerTime now) const {
  using Outcome = RecordAnswer::Outcome;
  if (call.kind == TextCall::Kind::read) return Outcome::found;
  const RecordWrite& write = call.write;
  if (write.owner) {
    const bool gone = sees_life_ && gone_.contains(call.client);
    const Record& record = mutex.record;
    const bool owns = record.owner == write.owner->contender_id && now < record.transition_at;
    const FencingToken token = write.owner->fencing_token;
    if (gone || !owns || token < record.first || token > record.token) return Outcome::not_owned;
  }
  if (mutex.text.version != write.replaces) return Outcome::changed;
  if (write.not_before && call.now < *write.not_before) return Outcome::too_early;
  return Outcome::written;
}

// ---- those who wait ------------------------------------------------------------------------

bool Server::grant_to_waiter(Mutex& mutex, const Call& call, ServerTime now) {
  if (offer_ != Offer::grants) return false;
  while (!mutex.waiters.empty()) {
    const Waiter waiter = mutex.waiters.front();
    mutex.waiters.pop_front();
    const auto listens =
        std::find_if(subscriptions_.begin(), subscriptions_.end(), [&](const Subscription& s) {
          return s.client == waiter.client && s.mutex == call.mutex &&
                 s.contender == waiter.contender;
        });
    if (listens == subscriptions_.end()) continue;
    grant(mutex, waiter, now);
    pushes.push_back({.kind = Push::Kind::granted,
                      .client = waiter.client,
                      .watch = listens->watch,
                      .mutex = call.mutex,
                      .contender = waiter.contender,
                      .record = mutex.record});
    return true;
  }
  return false;
}

void Server::wait(Mutex& mutex, const Call& call) {
  if (offer_ != Offer::grants || gone_.contains(call.client)) return;
  wait_no_longer(mutex, call.contender);
  mutex.waiters.push_back(waiter_of(call));
}

Server::Waiter Server::waiter_of(const Call& call) {
  return {.contender = call.contender,
          .client = call.client,
          .instance = call.instance,
          .ttl = call.ttl,
          .transition = call.transition};
}

void Server::wait_no_longer(Mutex& mutex, const std::string& contender) {
  std::erase_if(mutex.waiters, [&](const Waiter& w) { return w.contender == contender; });
}

// Observers hear of every change, those who wait of a mutex that has become free.
void Server::tell(std::size_t mutex, bool waiters_too, Push::Kind kind) {
  if (offer_ == Offer::nothing) return;
  for (const Subscription& s : subscriptions_) {
    if (s.mutex != mutex || (!s.contender.empty() && !waiters_too)) continue;
    pushes.push_back({.kind = kind,
                      .client = s.client,
                      .watch = s.watch,
                      .mutex = mutex,
                      .contender = s.contender,
                      .record = mutexes_[mutex].record});
  }
}

std::size_t Server::waiters() const {
  std::size_t all = 0;
  for (const Mutex& mutex : mutexes_) all += mutex.waiters.size();
  return all;
}

bool Server::waits(std::size_t mutex, const std::string& contender, std::size_t client) const {
  const auto& waiters = mutexes_[mutex].waiters;
  return std::any_of(waiters.begin(), waiters.end(), [&](const Waiter& waiter) {
    return waiter.contender == contender && waiter.client == client;
  });
}

std::string Server::any_watch() const {
  if (subscriptions_.empty()) return "";
  const Subscription& s = subscriptions_.front();
  return fmt::format("{} of process {} on m{}", s.contender.empty() ? "an observer" : s.contender,
                     s.client, s.mutex);
}

// ---- connections ---------------------------------------------------------------------------

void Server::subscribe(std::size_t client, std::uint64_t watch, std::size_t mutex,
                       const std::string& contender) {
  unsubscribe(client, watch);
  subscriptions_.push_back({client, watch, mutex, contender});
  pushes.push_back({.kind = Push::Kind::changed,
                    .client = client,
                    .watch = watch,
                    .mutex = mutex,
                    .contender = contender,
                    .record = mutexes_[mutex].record});
}

void Server::unsubscribe(std::size_t client, std::uint64_t watch) {
  std::erase_if(subscriptions_,
                [&](const Subscription& s) { return s.client == client && s.watch == watch; });
}

void Server::forget_client(std::size_t client) {
  gone_.insert(client);
  std::erase_if(subscriptions_, [&](const Subscription& s) { return s.client == client; });
  for (Mutex& mutex : mutexes_) {
    std::erase_if(mutex.waiters, [&](const Waiter& w) { return w.client == client; });
  }
}

void Server::restart() { subscriptions_.clear(); }

void Server::restart_without_memory(ServerTime since) {
  restart();
  for (Mutex& mutex : mutexes_) {
    mutex.waiters.clear();
    while (!mutex.journal.empty() && mutex.journal.back().first > since) {
      mutex.record = mutex.journal.back().second;
      mutex.journal.pop_back();
    }
    while (!mutex.texts.empty() && mutex.texts.back().first > since) {
      mutex.text = mutex.texts.back().second;
      mutex.texts.pop_back();
    }
  }
}

}  // namespace simba::sim
