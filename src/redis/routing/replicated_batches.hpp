#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "redis/connection/connection.hpp"
#include "redis/routing/command_link.hpp"

namespace simba::redis {

/// How many replicas must confirm what was written, and within which time.
struct Confirmation {
  int replicas = 0;  ///< 0: none
  std::chrono::milliseconds timeout{0};
};

/// Sends commands whose effects replicas are to confirm, all that gather in one batch with one WAIT
/// behind it: while a server waits for its replicas it does nothing else on that connection, so
/// there is never more than one.
///
/// Threads: every function may be called from any thread. Handlers are called with no lock held.
class ReplicatedBatches : public std::enable_shared_from_this<ReplicatedBatches> {
 public:
  ReplicatedBatches(std::shared_ptr<CommandLink> commands, Confirmation confirmation);

  /// As `CommandLink::send`, but the handler gets one reply more, the last: that to WAIT.
  void send(std::string commands, std::size_t replies, RepliesHandler handler);

 private:
  struct Part {
    std::size_t replies = 0;
    RepliesHandler handler{};
  };

  void send_batch(std::string commands, std::vector<Part> parts);
  void send_next();

  const std::shared_ptr<CommandLink> link_;
  const std::string wait_;  // the command

  std::mutex mutex_;
  // guarded by mutex_
  bool under_way_ = false;
  std::string commands_;
  std::vector<Part> parts_;
};

}  // namespace simba::redis
