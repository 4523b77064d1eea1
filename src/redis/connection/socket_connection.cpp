#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/ssl/error.hpp>
#include <fmt/format.h>

#include "core/boot_clock.hpp"
#include "core/current_credentials.hpp"
#include "redis/connection/connection.hpp"
#include "redis/connection/connection_opener.hpp"
#include "redis/connection/connection_requests.hpp"
#include "redis/connection/connection_timer.hpp"
#include "redis/connection/credentials_calls.hpp"
#include "redis/connection/handshake.hpp"
#include "redis/connection/transport.hpp"
#include "redis/protocol/resp_reader.hpp"
#include "simba/core/fork_guard.hpp"

// What Connection::open gives: a connection over a socket. See there for the contract.
//
// A connection goes one way: opening -> ready -> closed, or opening -> closed.
//
// opening  First the credentials, where a callback has them, then the way to the server
//          (ConnectionOpener), then the log-in (Handshake). What is sent meanwhile waits. The
//          callback may throw; the server may refuse, break off, or be no Redis; all of it may take
//          longer than the connect timeout: closed, nothing was sent.
// ready    The server may close, break off within a reply, send what is not RESP or what nobody
//          asked for, stop reading (what is to be written waits) or stop answering (the timer looks
//          at the oldest request): closed; the outcome of what was sent is unknown.
// closed   Seen by `send` at once. The loop then frees the socket, answers what is left, and tells
//          on_closed last, unless close() was called.
//
// Handlers are called from the loop's own functions, never from inside `send` or `close` of an open
// connection. One that throws is logged by the loop; the rest goes on in a task of its own.

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using detail::BootClock;

bool not_now(const asio::error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again ||
         error == asio::error::no_buffer_space;
}

bool closed_by_server(const asio::error_code& error) {
  return error == asio::error::eof || error == asio::ssl::error::stream_truncated;
}

class SocketConnection final : public Connection {
 public:
  SocketConnection(std::shared_ptr<detail::EventLoop> loop, Endpoint endpoint,
                   std::shared_ptr<const ConnectionSettings> settings, Use use, Events events)
      : loop_{std::move(loop)},
        endpoint_{std::move(endpoint)},
        use_{use},
        where_{"Redis at " + to_string(endpoint_)},
        deadline_{BootClock::now() + settings->connect_timeout},
        settings_{std::move(settings)},
        events_{std::move(events)},
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
  void ask_for_credentials();
  void on_credentials(const CredentialsSource& result);
  void find_way();
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
  std::shared_ptr<const ConnectionSettings> settings_;  // changed once: with the credentials
  Events events_;
  std::shared_ptr<const CredentialsCalls::Handler> asked_;  // waits for them
  std::unique_ptr<Handshake> handshake_;                    // empty: there are no credentials yet
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

}  // namespace

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
  detail::leak(asked_);
  detail::leak(opener_);
  detail::leak(transport_);
  static_cast<void>(timer_.release());
}

void SocketConnection::begin() {
  post([](SocketConnection& connection) { connection.open(); });
}

void SocketConnection::send(std::string commands, std::size_t replies, RepliesHandler handler) {
  if (use_ == Use::commands && replies == 0) {
    throw InvalidArgumentError{"a request to Redis must wait for at least 1 reply (got 0)"};
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
  if (settings_->credentials) {
    ask_for_credentials();
  } else {
    find_way();
  }
}

/// The loop goes on meanwhile. What comes too late is for another connection.
void SocketConnection::ask_for_credentials() {
  // It holds no settings: with the last of them the thread of the callback is waited for.
  const auto pass_on = [weak = std::weak_ptr{self()}, loop = loop_](const auto& result) {
    asio::post(loop->io(), [weak, result] {
      if (const auto connection = weak.lock()) connection->on_credentials(result);
    });
  };
  try {
    asked_ = settings_->credentials->ask(pass_on);
  } catch (const std::exception& error) {
    fail(Error{ErrorKind::unavailable,
               fmt::format("cannot connect to {}: no thread for the credentials callback: {}",
                           where_, error.what())});
  }
}

void SocketConnection::on_credentials(const CredentialsSource& result) {
  loop_->leave_in_child();
  {
    const std::lock_guard lock{mutex_};
    if (state_ == State::closed) return;
  }
  auto complete = std::make_shared<ConnectionSettings>(*settings_);
  try {
    auto found = detail::current_credentials(result, settings_->user, where_);
    complete->user = std::move(found.user);
    complete->password = std::move(found.password);
  } catch (const Error& error) {
    fail(error);
    return;
  }
  settings_ = std::move(complete);
  find_way();
}

void SocketConnection::find_way() {
  handshake_ = std::make_unique<Handshake>(*settings_, where_);
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
    fail(Error{ErrorKind::unavailable, "cannot connect to " + where_ + ": " + error.what()});
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
  outgoing_ = handshake_->commands();
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
  if (events_.on_ready) events_.on_ready();
}

// ---- on the loop's thread, once there is a way to the server
// -------------------------------------

void SocketConnection::read() {
  transport_->read(asio::buffer(buffer_), [self = self()](const auto& error, std::size_t bytes) {
    self->loop_->leave_in_child();
    self->on_read(error, bytes);
  });
}

void SocketConnection::on_read(const asio::error_code& error, std::size_t bytes) {
  if (error) {
    fail(broken(error));
    return;
  }
  reader_.feed({buffer_.data(), bytes});
  on_bytes();
}

/// Handles the replies that have come; then writes what was sent meanwhile, all at once, and reads
/// on.
void SocketConnection::on_bytes() {
  {
    const std::lock_guard lock{mutex_};
    if (state_ == State::closed) return;
    flushing_ = true;
  }
  for (;;) {
    std::optional<Reply> reply;
    try {
      reply = reader_.next();
    } catch (const Error& malformed) {
      const std::string text = fmt::format("{} sent an {}", where_, malformed.what());
      fail(handshake_->done() ? Error{malformed.kind(), text}
                              : Error{ErrorKind::configuration, text + "; is it a Redis server?"});
      return;
    }
    if (!reply) break;
    try {
      if (!handle(std::move(*reply))) return;
    } catch (...) {
      post([](SocketConnection& connection) { connection.on_bytes(); });
      throw;
    }
  }
  flush();
  read();
}

/// False if the connection is closed.
bool SocketConnection::handle(Reply reply) {
  std::unique_lock lock{mutex_};
  if (state_ == State::closed) return false;
  if (state_ == State::opening) {
    lock.unlock();
    try {
      handshake_->take(reply);
    } catch (const Error& refused) {
      fail(refused);
      return false;
    }
    if (handshake_->done()) become_ready();
    return true;
  }
  if (use_ == Use::subscriptions) {
    lock.unlock();
    if (events_.on_message) events_.on_message(reply);
    return true;
  }
  if (requests_.wanted() == 0) {
    lock.unlock();
    fail(Error{ErrorKind::internal, where_ + " sent a reply without a request"});
    return false;
  }
  collected_.push_back(std::move(reply));
  if (collected_.size() < requests_.wanted()) return true;
  const auto request = requests_.pop();
  lock.unlock();
  if (request.handler) request.handler(std::exchange(collected_, {}));
  collected_.clear();
  return true;
}

void SocketConnection::flush() {
  asio::error_code error;
  bool wait = false;
  {
    const std::lock_guard lock{mutex_};
    flushing_ = false;
    if (state_ != State::ready || writing_) return;
    if (requests_.unwritten().empty()) {
      // nothing to write
    } else if (transport_->plain()) {
      requests_.wrote(transport_->try_write(requests_.unwritten(), error));
      if (not_now(error)) error.clear();
      wait = !requests_.unwritten().empty();
    } else {
      outgoing_ = requests_.take_unwritten();
      wait = true;
    }
    writing_ = wait;
  }
  if (error) {
    fail(broken(error));
    return;
  }
  const auto go_on = [self = self()](const asio::error_code& failed, auto...) {
    self->loop_->leave_in_child();
    self->on_written(failed);
  };
  if (wait && transport_->plain()) transport_->wait_writable(go_on);
  if (wait && !transport_->plain()) transport_->write(asio::buffer(outgoing_), go_on);
  watch();
}

void SocketConnection::on_written(const asio::error_code& error) {
  if (error) {
    fail(broken(error));
    return;
  }
  {
    const std::lock_guard lock{mutex_};
    writing_ = false;
  }
  flush();
}

/// Lets the timer run while there is something to do. It is not rearmed for each request: when
/// it is due it looks at the oldest.
void SocketConnection::watch() {
  LocalTime since = BootClock::now();
  {
    const std::lock_guard lock{mutex_};
    if (state_ != State::ready || use_ == Use::subscriptions) return;
    if (std::exchange(watching_, true)) return;
    since = requests_.oldest().value_or(since);
  }
  overdue_ = false;
  timer_->arm(since + settings_->command_timeout, [self = self()] { self->on_timer(); });
}

void SocketConnection::on_timer() {
  const LocalTime now = BootClock::now();
  LocalTime due = deadline_;
  bool ready = false;
  {
    const std::lock_guard lock{mutex_};
    if (state_ == State::closed) return;
    ready = state_ == State::ready;
    if (ready) {
      const auto oldest = requests_.oldest();
      watching_ = oldest.has_value();
      if (!watching_) return;
      due = *oldest + settings_->command_timeout;
    }
  }
  if (now >= due && !handshake_) {
    fail(Error{ErrorKind::unavailable,
               fmt::format("cannot connect to {}: the credentials callback did not return within "
                           "{} ms",
                           where_, settings_->connect_timeout.count())});
  } else if (now >= due && !ready) {
    const bool before_tls = uses_tls(settings_->tls.mode) && opener_ != nullptr;
    fail(Error{
        ErrorKind::unavailable,
        fmt::format("{} did not answer within {} ms{}", where_, settings_->connect_timeout.count(),
                    before_tls ? "; does this port support TLS?" : "")});
  } else if (now >= due && overdue_) {
    fail(Error{ErrorKind::timeout, fmt::format("{} did not answer a command within {} ms", where_,
                                               settings_->command_timeout.count())});
  } else {
    // A process that was stopped reads what has come meanwhile before it gives up.
    overdue_ = now >= due;
    timer_->arm(overdue_ ? now + 1ms : due, [self = self()] { self->on_timer(); });
  }
}

void SocketConnection::fail(const Error& cause) {
  {
    const std::lock_guard lock{mutex_};
    if (state_ == State::closed) return;
    state_ = State::closed;
  }
  cause_ = cause;
  finish();
}

void SocketConnection::finish() {
  closed_at_ = BootClock::now();
  {
    const std::lock_guard lock{mutex_};
    unanswered_ = requests_.take_all();
    if (transport_) transport_->close();
  }
  asked_.reset();
  if (opener_) opener_->cancel();
  opener_.reset();
  timer_->cancel();
  answer_rest();
}

void SocketConnection::answer_rest() {
  while (!unanswered_.empty()) {
    const auto request = std::move(unanswered_.front());
    unanswered_.pop_front();
    if (!request.handler) continue;
    try {
      request.handler(for_request(request));
    } catch (...) {
      post([](SocketConnection& connection) { connection.answer_rest(); });
      throw;
    }
  }
  const Events events = std::exchange(events_, {});  // frees what they hold
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(ended_by_us_, true)) return;
  }
  if (events.on_closed) events.on_closed(cause_);
}

Error SocketConnection::for_request(const ConnectionRequests::Request& request) const {
  if (requests_.unsent(request)) {
    return cause_.is_transient() ? Error{ErrorKind::unavailable, cause_.what()} : cause_;
  }
  const bool over_time = closed_at_ - request.since >= settings_->command_timeout;
  if (cause_.kind() == ErrorKind::timeout && over_time) return cause_;
  return Error{ErrorKind::in_doubt, cause_.what()};
}

Error SocketConnection::broken(const asio::error_code& error) const {
  const std::string why = closed_by_server(error) ? "closed by the server" : reason_of(error);
  if (handshake_->done()) {
    return Error{ErrorKind::unavailable, fmt::format("lost the connection to {}: {}", where_, why)};
  }
  if (error.category() == asio::error::get_ssl_category()) {
    return Error{ErrorKind::configuration,
                 fmt::format("TLS handshake with {} failed: {}; check whether the server requires "
                             "a client certificate and accepts that in tls.certificate_file",
                             where_, why)};
  }
  return Error{
      ErrorKind::unavailable,
      fmt::format("lost the connection to {} during login: {}; {}", where_, why,
                  transport_->plain() ? "does this port expect TLS, or is it not a Redis server?"
                                      : "does the server require a client certificate?")};
}

}  // namespace simba::redis
