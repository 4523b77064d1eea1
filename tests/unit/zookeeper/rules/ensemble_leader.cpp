// Who leads the servers, who follows, and what goes wrong with them. What the leader decides is in
// ensemble.cpp.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "unit/zookeeper/rules/ensemble.hpp"

namespace simba::zookeeper::rules {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Lane = Actor::Lane;

// ---- who leads ----------------------------------------------------------------------------------

void Ensemble::lose_leader() {
  world_.note("no leader");
  ++epoch_;
  leader_.reset();
  sessions_.clear();
  for (Member& member : members_) {
    member.joined = false;
    member.leaving = false;
    ++member.membership;
    member.server->end_serving();
  }
  plan_election();
}

void Ensemble::plan_election() {
  if (std::exchange(electing_, true)) return;
  world_.at(world_.now() + world_.between(50ms, world_.rough ? 500ms : 100ms), [this] {
    electing_ = false;
    elect();
  });
}

void Ensemble::elect() {
  std::vector<std::size_t> voters;
  for (std::size_t i = 0; i < size; ++i) {
    if (awake(members_[i])) voters.push_back(i);
  }
  if (leader_ || voters.size() < 2) return;
  leader_ = voters[world_.below(voters.size())];
  ++epoch_;
  world_.note(fmt::format("server {} leads", *leader_));
  for (const auto& [session, since] : truth_.sessions()) {
    sessions_[session] = {.ends_at = end_of_session()};
  }
  for (const std::size_t voter : voters) join(members_[voter]);
  ask_who_is_alive();
  end_sessions();
}

void Ensemble::join(Member& member) {
  ++member.membership;
  member.joined = true;
  member.last.fill(LocalTime::min());
  catch_up(member, log_.size());
  member.server->begin_serving();
}

// One that sleeps notices when it wakes, after what it has slept through.
void Ensemble::leave(Member& member) {
  member.joined = false;
  member.leaving = true;
  member.server->actor().at(Lane::loop, world_.now(), [&member, membership = ++member.membership] {
    if (member.membership != membership) return;
    member.leaving = false;
    member.server->end_serving();
  });
}

void Ensemble::look_after() {
  const nanoseconds patience = config_.sync_limit * config_.tick;
  for (Member& member : members_) {
    if (awake(member) || !member.up) {
      member.silent_since = never;
    } else {
      member.silent_since = std::min(member.silent_since, world_.now());
    }
  }
  if (leader_) {
    std::size_t present = 0;
    for (Member& member : members_) {
      const bool silent = member.silent_since != never;
      const bool too_long = silent && world_.now() - member.silent_since > patience;
      if (member.joined && too_long) leave(member);
      if (!member.joined && !member.leaving && awake(member)) join(member);
      if (member.joined) ++present;
    }
    if (present < 2 || !members_[*leader_].joined) lose_leader();
  } else {
    plan_election();
  }
  world_.at(world_.now() + 20ms, [this] { look_after(); });
}

// ---- faults -------------------------------------------------------------------------------------

void Ensemble::crash(std::size_t number, LocalTime back_at) {
  Member& member = members_.at(number);
  if (!member.up) return;
  world_.note(fmt::format("server {} crashes", number));
  member.up = false;
  member.joined = false;
  member.leaving = false;
  ++member.membership;
  member.server->end_serving();
  if (leader_ == number) lose_leader();
  world_.at(back_at, [this, &member, number] {
    world_.note(fmt::format("server {} is back", number));
    member.up = true;
  });
}

void Ensemble::pause(std::size_t number, LocalTime until) {
  world_.note(fmt::format("server {} is paused", number));
  server(number).actor().pause_until(until);
}

void Ensemble::cut_off(std::size_t number, LocalTime until) {
  if (leader_ == number) return;
  world_.note(fmt::format("server {} is cut off from the others", number));
  members_.at(number).held_until = until;
}

void Ensemble::calm() {
  for (Member& member : members_) {
    member.up = true;
    member.held_until = std::min(member.held_until, world_.now());
  }
}

}  // namespace simba::zookeeper::rules
