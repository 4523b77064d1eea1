// A connection goes one way: opening -> ready -> closed, or opening -> closed.
//
// opening  First the way to the server (ConnectionOpener), then the log-in (Handshake). What is
//          sent meanwhile waits. It may be refused, break, be answered by something that is no
//          Redis, or take longer than the connect time-out: closed, nothing was sent.
// ready    The server may close, break off within a reply, send what is no RESP or what nobody
//          asked for, stop reading (what is to be written waits) or stop answering (the timer looks
//          at the oldest request): closed; the outcome of what was sent is unknown.
// closed   Seen by `send` at once. The loop then frees the socket, answers what is left, and tells
//          on_closed last, unless close() was called.
//
// Handlers are called from the loop's own functions, never from inside `send` or `close` of an open
// connection. One that throws is logged by the loop; the rest goes on in a task of its own.
#include "redis/connection.hpp"

#include <exception>
#include <utility>

#include "redis/connection_impl.hpp"
#include "simba/core/fork_guard.hpp"

namespace simba::redis {

using detail::BootClock;

std::shared_ptr<Connection> Connection::open(std::shared_ptr<detail::EventLoop> loop,
                                             Endpoint endpoint,
                                             std::shared_ptr<const ConnectionSettings> settings,
                                             Use use, Events events) {
  auto connection = std::make_shared<SocketConnection>(std::move(loop), std::move(endpoint),
                                                       std::move(settings), use, std::move(events));
  connection->begin();
  return connection;
}

SocketConnection::~SocketConnection() {
  if (!loop_->in_forked_child()) return;
  // What the parent's thread may have been using stays as it is.
  detail::leak(loop_);
  detail::leak(opener_);
  detail::leak(transport_);
  static_cast<void>(timer_.release());
}

void SocketConnection::begin() {
  post([](SocketConnection& connection) { connection.open(); });
}

void SocketConnection::send(std::string commands, std::size_t replies, RepliesHandler handler) {
  if (use_ == Use::commands && replies == 0) {
    throw InvalidArgumentError{"a request to Redis must wait for at least 1 reply, not 0"};
  }
  if (loop_->in_forked_child()) {
    const IllegalStateError error{"the connection to " + where_ + " belongs to the parent process"};
    if (handler) handler(error);
    return;
  }
  std::unique_lock lock{mutex_};
  if (state_ == State::closed) {
    lock.unlock();
    if (handler) {
      handler(Error{ErrorKind::unavailable, "the connection to " + where_ + " is closed"});
    }
    return;
  }
  const bool at_once = direct_ && !writing_ && requests_.idle();
  requests_.add(std::move(commands), replies, std::move(handler), BootClock::now());
  if (at_once) {
    asio::error_code found_by_flush;
    requests_.wrote(transport_->try_write(requests_.unwritten(), found_by_flush));
  }
  const bool done = requests_.unwritten().empty() && (watching_ || use_ == Use::subscriptions);
  if (done || state_ == State::opening || std::exchange(flushing_, true)) return;
  post([](SocketConnection& connection) { connection.flush(); });
}

void SocketConnection::close() {
  if (loop_->in_forked_child()) return;
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(ended_by_us_, true) || state_ == State::closed) return;
    state_ = State::closed;
  }
  post([](SocketConnection& connection) {
    connection.cause_ =
        Error{ErrorKind::unavailable, "the connection to " + connection.where_ + " was closed"};
    connection.finish();
  });
}

void SocketConnection::open() {
  {
    const std::lock_guard lock{mutex_};
    if (state_ == State::closed) return;
  }
  timer_->arm(deadline_, [self = self()] { self->on_timer(); });
  opener_ = std::make_shared<ConnectionOpener>(
      loop_, endpoint_, settings_, deadline_, [self = self()](const auto& opened) {
        if (const auto* error = std::get_if<Error>(&opened)) {
          self->fail(*error);
        } else {
          self->greet(std::get<std::shared_ptr<Transport>>(opened));
        }
      });
  try {
    opener_->start();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {  // of the system or of OpenSSL
    fail(Error{ErrorKind::unavailable,
               "no connection to " + where_ + " can be made: " + error.what()});
  }
}

void SocketConnection::greet(std::shared_ptr<Transport> transport) {
  opener_.reset();
  {
    const std::lock_guard lock{mutex_};
    transport_ = std::move(transport);
    if (state_ == State::closed) return;  // finish() frees it
    writing_ = true;
  }
  outgoing_ = handshake_.commands();
  transport_->write(asio::buffer(outgoing_), [self = self()](const auto& error, std::size_t) {
    self->loop_->leave_in_child();
    self->on_written(error);
  });
  read();
}

void SocketConnection::become_ready() {
  {
    const std::lock_guard lock{mutex_};
    if (state_ == State::closed) return;
    state_ = State::ready;
    direct_ = transport_->plain();
    requests_.restamp(BootClock::now());
  }
  if (events_.on_ready) events_.on_ready(handshake_.script_hashes());
}

}  // namespace simba::redis
