#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "unit/zookeeper/rules/curator_like.hpp"
#include "unit/zookeeper/rules/network.hpp"
#include "unit/zookeeper/rules/play.hpp"
#include "unit/zookeeper/rules/process.hpp"

namespace simba::zookeeper::rules {

/// A contender's node, as the servers have decided.
struct Latch {
  std::int64_t sequence = 0;
  std::string path{};
  std::string id{};
  FencingToken token = 0;
  std::int64_t session = 0;
};

/// Everyone who takes part, and what must always hold among them.
class Stage {
 public:
  Stage(std::uint64_t seed, Mutation mutation);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  World world;
  Ensemble ensemble;
  Network network;
  Outcome outcome;

  std::vector<std::unique_ptr<Process>> processes;  ///< the crashed ones, too
  std::vector<std::shared_ptr<CuratorLike>> curators;
  std::vector<std::string> mutexes;

  /// `like`: with the names of one that is gone.
  void add_process(const Process* like = nullptr);
  bool failed() const noexcept { return outcome.fault != Outcome::Fault::none; }
  void fail(Outcome::Fault fault, std::string what);

  /// Those who contend, in their order.
  std::vector<Latch> line_at(const std::string& mutex) const;

  /// An operator does it: whoever owns by this node learns of it only later.
  void remove_by_hand(const Latch& latch);
  void end_session_by_hand(std::int64_t session);

  /// From when on a mutex must not be without an owner for longer than `limit` while someone has
  /// contended for it all the time.
  void demand_owners(LocalTime from, std::chrono::nanoseconds limit, Outcome::Fault fault);

  /// What must hold at every moment. Happens by itself whenever something happens.
  void check();
  void check_observers();
  void check_everyone_waits();
  void check_callbacks();
  void check_nothing_is_left();

 private:
  struct Watched {
    FencingToken last_token = 0;
    LocalTime owned_at = LocalTime::min();  ///< when someone was last the owner
    std::vector<Latch> line{};
    std::int64_t zxid = -1;  ///< of `line`
  };
  using Names = std::vector<std::string>;

  void check(const std::string& mutex, Watched& watched);
  void look_at(Process::Member& member, Watched& watched, Names& owners);
  void excuse(FencingToken token);
  bool is_excused(FencingToken token) const;

  int made_ = 0;
  const std::chrono::milliseconds asked_timeout_;
  std::map<std::string, Watched> watched_;
  std::map<FencingToken, LocalTime> excused_;  // until when, by the token of a node
  LocalTime demanded_from_ = never;
  std::chrono::nanoseconds demanded_within_{0};
  Outcome::Fault demanded_fault_ = Outcome::Fault::nobody_owns;
};

}  // namespace simba::zookeeper::rules
