#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <poll.h>
#include <string>
#include <vector>

namespace simba::support {

using ProxyClock = std::chrono::steady_clock;
using ProxyTime = ProxyClock::time_point;

/// What was read from a socket at once.
struct Piece {
  std::string data;
  bool at_end = false;  ///< nothing more will come
  bool broken = false;  ///< the connection is gone

  std::size_t size() const noexcept { return data.size(); }
};

/// Reads what is there.
Piece receive(int socket);

/// One way of a connection: what has come in and has not gone out.
class ProxyQueue {
 public:
  /// To go out at `due`.
  void add(Piece piece, ProxyTime due);

  /// Sends what is due. False: the other side is gone.
  bool flush(int socket);

  bool empty() const noexcept { return pieces_.empty(); }

  /// The sender has ended, and all that it sent has gone out.
  bool finished() const noexcept { return at_end_ && pieces_.empty(); }
  bool at_end() const noexcept { return at_end_; }

  /// When the first piece is due; never: there is none.
  ProxyTime next_due() const noexcept {
    return pieces_.empty() ? ProxyTime::max() : pieces_.front().due;
  }

 private:
  struct Waiting {
    std::string data;
    ProxyTime due;
  };

  std::deque<Waiting> pieces_;
  bool at_end_ = false;
  bool passed_end_ = false;
};

/// For `FaultProxy::cut_next_reply`: armed until a request goes through, then waiting for its
/// reply.
enum class ReplyFault { none, armed, waiting };

/// A client's connection and the one to the server that belongs to it.
struct ProxyLink {
  ProxyLink(int client_socket, int server_socket) : client{client_socket}, server{server_socket} {}

  /// Adds what to wait for, and says until when at most.
  ProxyTime plan(std::vector<pollfd>& waits) const;

  int client;
  int server;
  ProxyQueue to_server{};
  ProxyQueue to_client{};
  ReplyFault reply_fault = ReplyFault::none;
  bool cut_when_sent = false;
};

}  // namespace simba::support
