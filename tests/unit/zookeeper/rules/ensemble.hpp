#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unit/zookeeper/rules/server.hpp"

namespace simba::zookeeper::rules {

struct EnsembleConfig {
  std::chrono::milliseconds tick{200};
  std::chrono::milliseconds timeout{1'200};  ///< of every session
  int sync_limit = 5;  ///< after so many ticks without the others a server stops serving
  bool knows_containers = true;
  std::chrono::nanoseconds followers_lag{0};  ///< before they apply a change, at most, while rough
};

/// Three servers of which one leads. The leader alone decides on changes and ends sessions; the
/// others apply what it decided, later, and tell it twice in a tick who is alive.
///
/// Without a leader nobody serves. A leader that sleeps for too long is replaced and closes its
/// connections at that moment: it never goes on to answer beside the new one.
class Ensemble final : public LeaderLine {
 public:
  static constexpr std::size_t size = 3;

  Ensemble(World& world, const EnsembleConfig& config, Mutation mutation);

  const EnsembleConfig& config() const noexcept { return config_; }
  Server& server(std::size_t number) { return *members_.at(number).server; }
  bool up(std::size_t number) const { return members_.at(number).up; }
  std::optional<std::size_t> leader() const noexcept { return leader_; }

  /// What has been decided, whoever has heard of it.
  const Tree& truth() const noexcept { return truth_; }

  void ask_leader(std::size_t server, const VisitorPtr& visitor, const Ask& ask,
                  Handler handler) override;
  void touch(std::size_t server, std::int64_t session) override;

  // ---- faults
  void crash(std::size_t number, LocalTime back_at);
  void pause(std::size_t number, LocalTime until);
  /// From the other servers, not from its clients.
  void cut_off(std::size_t number, LocalTime until);
  void remove_by_hand(const std::string& path);
  void end_session_by_hand(std::int64_t session);
  void remove_empty_containers();
  /// Everyone is up and hears everyone, from now on.
  void calm();

 private:
  enum Stream : std::size_t { to_leader, direct, commits };
  struct Member {
    std::unique_ptr<Server> server{};
    bool up = true;
    bool joined = false;           ///< follows the leader, or leads
    bool leaving = false;          ///< and has not noticed yet
    std::uint64_t membership = 0;  ///< grows when it comes and goes: messages of others are void
    std::size_t applied = 0;
    LocalTime held_until = LocalTime::min();
    LocalTime silent_since = never;  ///< cut off, or asleep
    std::array<LocalTime, 3> last{LocalTime::min(), LocalTime::min(), LocalTime::min()};
  };
  struct Session {
    LocalTime ends_at{};
    const Visitor* owner = nullptr;
  };

  void send(std::size_t server, Stream stream, std::function<void()> task);
  void decide(const VisitorPtr& visitor, const Ask& ask, std::size_t server, const Handler& reply);
  Say create(const Ask& ask, std::int64_t session);
  Say remove(const Ask& ask);
  Say write(const Ask& ask, std::int64_t session);
  void commit(Txn txn);
  void catch_up(Member& member, std::size_t end);

  LocalTime end_of_session() const;
  void refresh(std::int64_t session);
  void end_sessions();
  void ask_who_is_alive();

  void look_after();
  void plan_election();
  void elect();
  void join(Member& member);
  void leave(Member& member);
  void lose_leader();
  bool awake(const Member& member) const {
    return member.up && !member.server->actor().paused() && member.held_until <= world_.now();
  }

  World& world_;
  const EnsembleConfig config_;
  const Mutation mutation_;
  std::array<Member, size> members_;
  std::optional<std::size_t> leader_;
  std::uint64_t epoch_ = 0;
  bool electing_ = false;
  Tree truth_;
  std::vector<Txn> log_;
  std::map<std::int64_t, Session> sessions_;  // as the leader counts them
  std::int64_t sessions_made_ = 0x1000;
};

}  // namespace simba::zookeeper::rules
