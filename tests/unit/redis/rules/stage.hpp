#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "unit/redis/rules/jvm_like.hpp"
#include "unit/redis/rules/network.hpp"
#include "unit/redis/rules/play.hpp"
#include "unit/redis/rules/process.hpp"
#include "unit/redis/rules/server.hpp"
#include "unit/rules/world.hpp"

namespace simba::redis::rules {

/// Everyone who takes part, and what must always hold among them.
class Stage {
 public:
  Stage(std::uint64_t seed, Mutation mutation);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  World world;
  Server server;
  Network network;
  Outcome outcome;

  std::vector<std::unique_ptr<Process>> processes;  ///< the crashed ones, too
  std::vector<std::shared_ptr<JvmLike>> jvms;
  std::vector<std::string> mutexes;

  /// `like`: with the names of one that is gone.
  void add_process(const Process* like = nullptr);
  bool failed() const noexcept { return outcome.fault != Outcome::Fault::none; }
  void fail(Outcome::Fault fault, std::string what);

  /// From when on a mutex must not be without an owner for longer than `limit` while someone has
  /// contended for it all the time.
  void demand_owners(LocalTime from, std::chrono::nanoseconds limit, Outcome::Fault fault);

  /// Takes those out of the queues whom JVM contenders would tell in vain: who is gone, and who
  /// owns the mutex already.
  void tidy();

  /// What must hold at every moment. Happens by itself whenever something happens.
  void check();
  void check_observers();
  void check_callbacks();
  void check_nothing_is_left();

 private:
  struct Watched {
    std::map<std::uint64_t, FencingToken> last_token{};  ///< by the life of the server's memory
    LocalTime owned_at = LocalTime::min();               ///< when someone was last the owner
  };

  void check(const std::string& mutex, Watched& watched);
  void look_at(Process::Member& member, Watched& watched, std::map<std::uint64_t, Words>& owners);

  const Mutation mutation_;
  int made_ = 0;
  std::map<std::string, Watched> watched_;
  LocalTime demanded_from_ = never;
  std::chrono::nanoseconds demanded_within_{0};
  Outcome::Fault demanded_fault_ = Outcome::Fault::nobody_owns;
};

}  // namespace simba::redis::rules
