#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "unit/rules/stage.hpp"
#include "unit/zookeeper/rules/curator_like.hpp"
#include "unit/zookeeper/rules/mutation.hpp"
#include "unit/zookeeper/rules/network.hpp"
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

/// Processes that use the ZooKeeper store, and sometimes a Curator.
class Stage final : public simba::rules::Stage {
 public:
  Stage(std::uint64_t seed, Mutation mutation);
  ~Stage() override { clear(); }

  Ensemble ensemble;
  Network network;

  /// Those who contend, in their order.
  std::vector<Latch> line_at(const std::string& mutex) const;
  std::string owner_of(const std::string& mutex) override;

  /// An operator does it: whoever owns by this node learns of it only later.
  void remove_by_hand(const Latch& latch);
  void end_session_by_hand(std::int64_t session);

  void check_everyone_waits();
  void check_end() override;

 private:
  struct Watched {
    FencingToken last_token = 0;
    LocalTime owned_at = LocalTime::min();  ///< when someone was last the owner
    std::vector<Latch> line{};
    std::int64_t zxid = -1;  ///< of `line`
  };
  using Names = std::vector<std::string>;

  std::unique_ptr<Process> make_process(const std::string& name, int drift_ppm) override;
  std::shared_ptr<simba::rules::Stranger> make_stranger(const std::string& mutex) override;
  void check_mutex(const std::string& mutex) override;
  void check_member(Process::Member& member, Watched& watched, Names& owners);
  void check_nothing_is_left();
  void excuse(FencingToken token);
  bool is_excused(FencingToken token) const;

  const std::chrono::milliseconds asked_timeout_;
  CuratorLike* curator_ = nullptr;  // the stranger
  std::map<std::string, Watched> watched_;
  std::map<FencingToken, LocalTime> excused_;  // until when, by the token of a node
};

}  // namespace simba::zookeeper::rules
