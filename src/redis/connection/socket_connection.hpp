#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <asio/post.hpp>

#include "core/boot_clock.hpp"
#include "redis/connection/connection.hpp"
#include "redis/connection/connection_opener.hpp"
#include "redis/connection/connection_requests.hpp"
#include "redis/connection/connection_timer.hpp"
#include "redis/connection/handshake.hpp"
#include "redis/connection/transport.hpp"
#include "redis/protocol/resp_reader.hpp"

namespace simba::redis {

/// What Connection::open gives: a connection over a socket. See there for the contract, and
/// socket_connection.cpp for its states.
class SocketConnection final : public Connection {
 public:
  SocketConnection(std::shared_ptr<detail::EventLoop> loop, Endpoint endpoint,
                   std::shared_ptr<const ConnectionSettings> settings, Use use, Events events)
      : loop_{std::move(loop)},
        endpoint_{std::move(endpoint)},
        settings_{std::move(settings)},
        use_{use},
        where_{"Redis at " + to_string(endpoint_)},
        deadline_{detail::BootClock::now() + settings_->connect_timeout},
        events_{std::move(events)},
        handshake_{*settings_, where_},
        timer_{std::make_unique<ConnectionTimer>(*loop_)} {}

  ~SocketConnection() override;

  void begin();
  void send(std::string commands, std::size_t replies, RepliesHandler handler) override;
  void close() override;

 private:
  enum class State { opening, ready, closed };

  std::shared_ptr<SocketConnection> self() {
    return std::static_pointer_cast<SocketConnection>(shared_from_this());
  }

  /// Runs `run(*this)` on the loop's thread, later.
  template <typename Run>
  void post(Run run) {
    asio::post(loop_->io(), [self = self(), run] {
      self->loop_->leave_in_child();
      run(*self);
    });
  }

  // On the loop's thread:
  void open();
  void greet(std::shared_ptr<Transport> transport);
  void become_ready();
  void read();
  void on_read(const asio::error_code& error, std::size_t bytes);
  void on_bytes();
  bool handle(Reply reply);
  void flush();
  void on_written(const asio::error_code& error);
  void watch();
  void on_timer();
  void fail(const Error& cause);
  void finish();
  void answer_rest();
  Error broken(const asio::error_code& error) const;
  Error for_request(const ConnectionRequests::Request& request) const;

  // constant after construction
  const std::shared_ptr<detail::EventLoop> loop_;
  const Endpoint endpoint_;
  const std::shared_ptr<const ConnectionSettings> settings_;
  const Use use_;
  const std::string where_;
  const LocalTime deadline_;  // of opening

  std::mutex mutex_;
  // guarded by mutex_
  State state_ = State::opening;
  bool ended_by_us_ = false;  // no event any more
  bool direct_ = false;       // `send` may write itself
  bool writing_ = false;      // the loop waits until it can write on
  bool flushing_ = false;     // the loop will call flush()
  bool watching_ = false;     // the timer looks at the oldest request
  ConnectionRequests requests_;

  // used on the loop's thread only
  Events events_;
  Handshake handshake_;
  RespReader reader_;
  std::array<char, 16U << 10U> buffer_{};
  std::vector<Reply> collected_;  // of the oldest request
  std::string outgoing_;          // what TLS is writing
  std::unique_ptr<ConnectionTimer> timer_;
  bool overdue_ = false;  // the oldest request was over time when last looked at
  std::shared_ptr<ConnectionOpener> opener_;
  std::shared_ptr<Transport> transport_;
  Error cause_{ErrorKind::internal, "not closed"};  // why it is closed
  LocalTime closed_at_{};
  std::deque<ConnectionRequests::Request> unanswered_;
};

}  // namespace simba::redis
