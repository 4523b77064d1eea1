#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection/connection.hpp"
#include "redis/protocol/reply.hpp"

namespace simba::redis {

/// What is said first on a connection, all at once: who we are, which database, our name, and
/// whether the server is a master. No I/O in it.
class Handshake {
 public:
  /// `settings` outlives it; `where` names the server, e.g. "Redis at 127.0.0.1:6379".
  Handshake(const ConnectionSettings& settings, std::string where);

  /// The commands to send.
  std::string commands() const;

  /// Takes the next reply. Throws Error if the server refuses us, is of no use, or answers
  /// something that is no answer to what was asked. No message shows the password.
  void take(const Reply& reply);

  /// True when every command is answered.
  bool done() const noexcept { return answered_ == steps_.size(); }

 private:
  enum class Step { log_in, select, name, role, ping };

  void refused(Step step, std::string_view text) const;
  [[noreturn]] void log_in_refused(std::string_view text) const;
  [[noreturn]] void senseless(Step step) const;

  const ConnectionSettings& settings_;
  const std::string where_;
  std::vector<Step> steps_;
  std::size_t answered_ = 0;
};

}  // namespace simba::redis
