#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "redis/connection/connection.hpp"
#include "unit/redis/rules/network.hpp"
#include "unit/rules/stranger.hpp"

namespace simba::redis::rules {

/// A contender that follows the JVM library's protocol to the letter and knows nothing of ours.
/// Like that library's it counts no time: it considers itself the owner until a renewal says
/// otherwise. So what it says of itself proves nothing; who owns the mutex is for the server to
/// say.
class JvmLike final : public simba::rules::Stranger, public std::enable_shared_from_this<JvmLike> {
 public:
  JvmLike(World& world, Network& network, std::string name, std::string mutex);

  void start() override;
  void stop() override;
  bool running() const noexcept override { return running_; }
  LocalTime running_since() const noexcept { return running_ ? running_since_ : never; }

  /// By its own account.
  bool is_owner() const noexcept { return running_ && owner_; }

  const std::string& id() const noexcept { return id_; }

  /// Whether an id is one of its lives.
  bool has_been(const std::string& id) const { return id.starts_with(host_->name + "-"); }

  const std::string& mutex() const noexcept { return mutex_; }
  Host& host() const noexcept override { return *host_; }

 private:
  using Handler = std::function<void(const Reply*)>;  // null: it failed

  void listen();
  void ask();
  void answered(bool renewal, const Reply* reply);
  void evaluate(const char* script, Handler handler);
  void later(std::chrono::nanoseconds delay, void (JvmLike::*what)());

  World& world_;
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
  bool owner_ = false;
  std::shared_ptr<Connection> commands_;
  std::shared_ptr<Connection> messages_;
};

}  // namespace simba::redis::rules
