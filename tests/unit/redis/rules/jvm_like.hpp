#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "redis/connection/connection.hpp"
#include "unit/redis/rules/network.hpp"
#include "unit/rules/stranger.hpp"

namespace simba::redis::rules {

/// A contender that follows the JVM library's protocol to the letter and knows nothing of ours. It
/// counts its lease from before it asked, so it is to be believed.
class JvmLike final : public simba::rules::Stranger, public std::enable_shared_from_this<JvmLike> {
 public:
  JvmLike(World& world, Server& server, Network& network, std::string name, std::string mutex);

  void start() override;
  void stop() override;
  bool running() const noexcept override { return running_; }
  LocalTime running_since() const noexcept { return running_ ? running_since_ : never; }

  bool is_owner() const;
  /// Of the server's memory that made it the owner; `unsure` where it was lost just then.
  std::uint64_t life() const noexcept { return life_; }
  static constexpr std::uint64_t unsure = ~std::uint64_t{0};

  const std::string& id() const noexcept { return id_; }
  const std::string& mutex() const noexcept { return mutex_; }
  Host& host() const noexcept override { return *host_; }

 private:
  using Handler = std::function<void(const Reply*)>;  // null: it failed

  void listen();
  void ask();
  void answered(LocalTime sent, std::uint64_t life, bool renewal, const Reply* reply);
  void evaluate(const char* script, Handler handler);
  void later(std::chrono::nanoseconds delay, void (JvmLike::*what)());
  LocalTime now() const { return host_->runtime->clock->now(); }

  World& world_;
  Server& server_;
  const std::shared_ptr<Host> host_;
  const OpenConnection open_;
  const std::shared_ptr<const ConnectionSettings> settings_;
  const std::string mutex_;
  std::string id_;
  int lives_ = 0;
  bool running_ = false;
  LocalTime running_since_ = never;  // true time
  bool asking_ = false;
  bool told_ = false;          // to try, while it asked already
  std::uint64_t planned_ = 0;  // the newest plan to ask: others are void
  LocalTime owned_until_ = LocalTime::min();
  std::uint64_t life_ = 0;
  std::shared_ptr<Connection> commands_;
  std::shared_ptr<Connection> messages_;
};

}  // namespace simba::redis::rules
