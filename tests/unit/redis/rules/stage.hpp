#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "unit/redis/rules/jvm_like.hpp"
#include "unit/redis/rules/mutation.hpp"
#include "unit/redis/rules/network.hpp"
#include "unit/redis/rules/process.hpp"
#include "unit/redis/rules/server.hpp"
#include "unit/rules/stage.hpp"

namespace simba::redis::rules {

/// Processes that use the Redis store, and sometimes a JVM contender.
class Stage final : public simba::rules::Stage {
 public:
  Stage(std::uint64_t seed, Mutation mutation);
  ~Stage() override { clear(); }

  Server server;
  Network network;

  /// The stranger, or null.
  JvmLike* jvm() const noexcept { return jvm_; }

  /// Takes those of the JVM library out of its queue whom its contenders would tell in vain: who is
  /// gone, and who owns the mutex already.
  void tidy();

  /// What ours know of those who wait for the mutex of the JVM contender is gone.
  void expire_line();

  std::string owner_of(const std::string& mutex) override;
  void check_end() override;

 private:
  struct Watched {
    std::map<std::uint64_t, FencingToken> last_token{};  ///< by the life of the server's memory
    LocalTime owned_at = LocalTime::min();               ///< when someone was last the owner
  };

  std::unique_ptr<Process> make_process(const std::string& name, int drift_ppm) override;
  std::shared_ptr<simba::rules::Stranger> make_stranger(const std::string& mutex) override;
  void check_servers() override;
  void check_mutex(const std::string& mutex) override;
  void check_nothing_is_left();
  std::set<std::string> living() const;

  const Mutation mutation_;
  JvmLike* jvm_ = nullptr;
  std::map<std::string, Watched> watched_;
};

}  // namespace simba::redis::rules
