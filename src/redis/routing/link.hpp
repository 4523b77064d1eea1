#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "core/connect_gate.hpp"
#include "core/statistics/meters.hpp"
#include "redis/connection/connection.hpp"
#include "redis/connection/dialer.hpp"
#include "redis/protocol/reply.hpp"
#include "simba/core/timer.hpp"

namespace simba::redis {

/// One connection after another to a server: what every way to one has in common. What it is used
/// for, and when to connect, is for the class that derives from it.
///
/// Each attempt to connect has a number, and ends with its connection; what an earlier one still
/// says is not heard. After a failure there is a pause, which grows until a connection has lasted.
///
/// Threads: public functions may be called from any thread. The virtual ones are called with
/// `mutex_` held; where they get the lock they may release it, to call others. Those that tell of a
/// connection come on the loop's thread.
/// Lifetime: made by `make_shared`. The destructor closes the connection.
class Link : public std::enable_shared_from_this<Link> {
 public:
  virtual ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Leaves the server, e.g. because another has taken its place, even while connecting to it.
  void leave();

  /// The same, but as after a failure: the server has given an answer that makes the connection
  /// useless. However many answers say so, the next attempt comes after the pause.
  void refused(const Error& error);

  /// Ends it for good.
  void close();

 protected:
  using Lock = std::unique_lock<std::mutex>;

  Link(Dialer dialer, Connection::Use use);

  // ---- what has happened
  virtual void opened(Lock& /*lock*/) {}  ///< what is sent from now on goes out when it is ready
  virtual void ready(Lock& /*lock*/) {}
  virtual void received(Lock& /*lock*/, const Reply& /*reply*/) {}
  virtual void ended() {}  ///< the attempt, for whatever reason; the following say why
  virtual void failed(Lock& lock, const Error& error, bool news) = 0;
  virtual void left() {}
  virtual void closing(Lock& /*lock*/) {}
  virtual void tick() {}  ///< the timer is due; called without the lock

  // ---- with mutex_ held, but for now()
  LocalTime now() const { return dialer_.runtime->clock->now(); }
  bool under_way() const noexcept { return under_way_; }
  bool is_ready() const noexcept { return ready_at_.has_value(); }
  void dial();                            ///< begins another attempt; none is under way
  void fail(Lock& lock, const Error& e);  ///< ends the attempt under way; releases the lock
  std::shared_ptr<Connection> hang_up();  ///< ends the attempt; the caller closes what it gets
  Timer& timer();                         ///< calls tick(); not once it is closed

  // constant after construction
  const Dialer dialer_;

  std::mutex mutex_;
  // guarded by mutex_
  bool closed_ = false;
  std::uint64_t attempt_ = 0;
  std::shared_ptr<Connection> connection_;  // from opened() on
  Endpoint endpoint_;                       // of connection_
  detail::ConnectGate gate_;

 private:
  void found(std::uint64_t attempt, const std::variant<Endpoint, Error>& result);
  Connection::Events events_of(std::uint64_t attempt);

  template <typename Tell>
  void hear(std::uint64_t attempt, Tell tell);

  const Connection::Use use_;
  const std::shared_ptr<detail::ConnectionMeter> connections_;  // empty: they are not counted

  // guarded by mutex_
  bool under_way_ = false;  // an attempt, until its connection ends
  std::optional<LocalTime> ready_at_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace simba::redis
