#include "http/server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include "core/fork/leaked_in_child.hpp"
#include "core/log_exception.hpp"
#include "core/text.hpp"
#include "core/threads/thread_group.hpp"
#include "simba/core/error.hpp"
#include "simba/core/fork_guard.hpp"

namespace simba::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

using Parser = wire::request_parser<wire::string_body>;
using Answer = wire::response<wire::string_body>;

/// How often connections are looked at for whether their time is over.
constexpr milliseconds sweep_interval = 100ms;

/// From our last byte to the close: a client that still sends gets to read our answer first.
constexpr milliseconds linger_time = 2s;

/// For the thread at the end, which is short of nothing but a handler's return.
constexpr milliseconds patience_at_end = 1s;

/// So many pieces of a stream are written together.
constexpr std::size_t most_pieces = 64;

constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

constexpr steady_clock::time_point no_deadline = steady_clock::time_point::max();

/// Lets the loop end in a child that a handler has forked and come back in.
struct ServerLeftInChild {};

std::string_view view_of(beast::string_view text) noexcept { return {text.data(), text.size()}; }

/// What a failure to read is answered with; 0: the request is not at fault.
int status_of(const error_code& error) {
  if (error == wire::error::header_limit || error == wire::error::buffer_overflow) return 431;
  if (error == wire::error::body_limit) return 413;
  const auto& category = wire::make_error_code(wire::error::bad_method).category();
  return error.category() == category && error != wire::error::end_of_stream ? 400 : 0;
}

void set_limits(Parser& parser, const ServerOptions& options) {
  parser.header_limit(static_cast<std::uint32_t>(options.header_bytes));
  parser.body_limit(options.body_bytes);
}

bool is_plain(std::string_view target) noexcept {
  return std::all_of(target.begin(), target.end(),
                     [](char c) { return static_cast<unsigned char>(c) > ' ' && c != '\x7f'; });
}

/// The request without its body, or the status that it is refused with. For a parser that has read
/// no further: trailers, which come behind the body, would be among the headers.
std::variant<Request, int> to_request(const Parser::value_type& message, std::string peer,
                                      const ServerOptions& options) {
  // Beast counts the request line and what follows it apart.
  std::size_t size = message.method_string().size() + message.target().size() +
                     std::string_view{"  HTTP/1.1\r\n\r\n"}.size();
  for (const auto& field : message) {
    size += field.name_string().size() + field.value().size() + std::string_view{": \r\n"}.size();
  }
  if (size > options.header_bytes) return 431;

  const auto hosts = message.count(wire::field::host);
  if (hosts > 1 || (hosts == 0 && message.version() >= 11)) return 400;
  const std::string_view target = view_of(message.target());
  if ((!target.starts_with('/') && target != "*") || !is_plain(target)) return 400;

  Request request{.method = std::string{view_of(message.method_string())}, .peer = std::move(peer)};
  const auto path_end = std::min(target.find('#'), target.size());
  const auto question = std::min(target.find('?'), path_end);
  request.path = target.substr(0, question);
  if (question < path_end) request.query = target.substr(question + 1, path_end - question - 1);
  for (const auto& field : message) {
    request.headers.push_back(
        {std::string{view_of(field.name_string())}, std::string{view_of(field.value())}});
  }
  return request;
}

/// Without what would end the line.
std::string header_value(std::string_view value) {
  std::string text{value};
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  return text;
}

std::shared_ptr<asio::ssl::context> make_server_tls(const ServerTls& files) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  ::SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION);
  // Else OpenSSL would ask for a pass phrase on the terminal.
  context->set_password_callback([](std::size_t, auto) { return std::string{}; });
  const auto check = [](const error_code& refused, const std::string& file,
                        std::string_view wanted) {
    if (!refused) return;
    throw Error{ErrorKind::configuration,
                fmt::format("cannot use '{}' for TLS: {}; it must contain {}", file,
                            refused.message(), wanted)};
  };
  error_code refused;
  context->use_certificate_chain_file(files.certificate_file, refused);
  check(refused, files.certificate_file, "a certificate in PEM format");
  context->use_private_key_file(files.key_file, asio::ssl::context::pem, refused);
  check(refused, files.key_file,
        fmt::format("the key of {} in PEM format, without a passphrase", files.certificate_file));
  return context;
}

}  // namespace

class Connection;

/// What all threads share. Only its own thread uses what is not said to be for others.
class ServerCore : public std::enable_shared_from_this<ServerCore> {
 public:
  ServerCore(const ListenAddress& address, Handler handler, ServerOptions options);

  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }

  /// Any thread: runs `task` on ours, unless that is at its end.
  template <typename Task>
  void post(Task task) {
    if (in_forked_child()) return;
    const std::lock_guard lock{mutex_};
    if (!closed_) asio::post(io_, std::move(task));
  }

  /// The body of the thread.
  void run() noexcept;
  void stop();

  const ServerOptions& options() const noexcept { return options_; }
  const ListenAddress& address() const noexcept { return address_; }
  asio::ssl::context* tls() const noexcept { return tls_.get(); }

  void handle(Request request, const std::shared_ptr<Connection>& connection);
  void forget(const Connection* connection);
  bool take_stream() noexcept;
  void give_stream_back() noexcept { --streams_; }

 private:
  void listen();
  void wait_for_connections();
  void accept();
  void admit(int descriptor);
  bool make_room();
  void sweep_later();
  void tick_later();

  // constant after construction
  const Handler handler_;
  const ServerOptions options_;
  const std::shared_ptr<Logger> log_;
  const ForkGuard fork_guard_;
  const std::shared_ptr<asio::ssl::context> tls_;
  ListenAddress address_;

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer accept_pause_{io_};
  asio::steady_timer sweep_{io_};
  asio::steady_timer tick_{io_};
  std::map<const Connection*, std::shared_ptr<Connection>> connections_;
  std::size_t streams_ = 0;
  bool sweeping_ = false;
  bool stopping_ = false;

  std::mutex mutex_;
  // guarded by mutex_
  bool closed_ = false;
};

class Stream::Sink {
 public:
  Sink(std::weak_ptr<ServerCore> core, std::weak_ptr<Connection> connection, std::size_t limit)
      : core_{std::move(core)}, connection_{std::move(connection)}, limit_{limit} {}

  bool send(const std::shared_ptr<const std::string>& text);
  void close();

  // For the connection.
  void written(std::size_t bytes) noexcept { waiting_ -= bytes; }
  void closed() noexcept { open_ = false; }

 private:
  const std::weak_ptr<ServerCore> core_;
  const std::weak_ptr<Connection> connection_;
  const std::size_t limit_;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<bool> open_{true};
};

class Responder::Pending {
 public:
  Pending(std::weak_ptr<ServerCore> core, std::weak_ptr<Connection> connection,
          std::uint64_t number)
      : core_{std::move(core)}, connection_{std::move(connection)}, number_{number} {}
  ~Pending();
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  void answer(Response response);

 private:
  const std::weak_ptr<ServerCore> core_;
  const std::weak_ptr<Connection> connection_;
  const std::uint64_t number_;
  std::atomic<bool> answered_{false};
};

/// One client. It lives while it is in the server's map, or an operation is under way.
///
///   shaking hands -> idle -> reading -> answering -> writing -> idle, ... -> lingering
///                                                         \-> streaming -----^
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  enum class Phase {
    shaking_hands,
    idle,
    reading,
    answering,
    writing,
    streaming,
    lingering,
    closed
  };

  Connection(ServerCore& core, tcp::socket socket)
      : core_{core}, socket_{std::move(socket)}, buffer_{most_buffered(core.options())} {
    if (core.tls() != nullptr) tls_.emplace(socket_, *core.tls());
    error_code unknown;
    const auto remote = socket_.remote_endpoint(unknown);
    if (!unknown) peer_ = remote.address().to_string();
  }

  void begin() {
    if (!tls_) return wait_for_request(core_.options().request_time);
    enter(Phase::shaking_hands, core_.options().request_time);
    tls_->async_handshake(asio::ssl::stream_base::server,
                          [self = shared_from_this()](const error_code& error) {
                            if (error) return self->close();
                            self->wait_for_request(self->core_.options().request_time);
                          });
  }

  /// Since when it has been waiting for the client to ask; nothing: it is not.
  std::optional<steady_clock::time_point> waits_since() const noexcept {
    if (phase_ > Phase::reading) return std::nullopt;
    return since_;
  }

  bool is_overdue(steady_clock::time_point now) const noexcept { return now >= deadline_; }

  void end_overdue() {
    if (phase_ != Phase::answering) return close();
    respond(number_, text_response(503, "no answer in time"));
  }

  std::uint64_t request_number() const noexcept { return number_; }

  /// An answer to request `number`, which may be over.
  void respond(std::uint64_t number, Response response);

  void queue(const std::shared_ptr<const std::string>& text) {
    if (phase_ != Phase::streaming || ending_) return;
    queue_.push_back(text);
    write_queue();
  }

  void end_stream() {
    if (phase_ != Phase::streaming) return;
    ending_ = true;
    if (!writing_) finish();
  }

  void close() {
    if (phase_ == Phase::closed) return;
    error_code ignored;
    if (phase_ == Phase::writing || phase_ == Phase::streaming) {
      // Else the kernel keeps what the client has not read.
      socket_.set_option(tcp::socket::linger{true, 0}, ignored);
    }
    leave_stream();
    phase_ = Phase::closed;
    socket_.close(ignored);
    core_.forget(this);
  }

 private:
  static std::size_t most_buffered(const ServerOptions& options) {
    return options.header_bytes + options.body_bytes + 1024;
  }

  void enter(Phase phase, milliseconds limit) {
    phase_ = phase;
    since_ = steady_clock::now();
    deadline_ = since_ + limit;
  }

  /// Calls `act` with the stream that bytes go through.
  template <typename Act>
  void on_stream(Act act) {
    if (tls_) {
      act(*tls_);
    } else {
      act(socket_);
    }
  }

  void wait_for_request(milliseconds limit) {
    parser_.reset();
    if (buffer_.size() > 0) return read_header();  // it was sent behind the last one
    enter(Phase::idle, limit);
    on_stream([&](auto& stream) {
      stream.async_read_some(buffer_.prepare(1024), [self = shared_from_this()](
                                                        const error_code& error, std::size_t size) {
        if (error) return self->close();
        self->buffer_.commit(size);
        self->read_header();
      });
    });
  }

  void read_header() {
    enter(Phase::reading, core_.options().request_time);
    parser_ = std::make_unique<Parser>();
    set_limits(*parser_, core_.options());
    on_stream([&](auto& stream) {
      wire::async_read_header(stream, buffer_, *parser_,
                              [self = shared_from_this()](const error_code& error, std::size_t) {
                                if (error) return self->refuse(error);
                                self->read_body();
                              });
    });
  }

  void read_body() {
    const auto& message = parser_->get();
    version_ = message.version();
    keeps_alive_ = message.keep_alive();
    only_head_ = message.method() == wire::verb::head;
    auto request = to_request(message, peer_, core_.options());
    if (const int* const status = std::get_if<int>(&request)) return refuse(*status);
    request_ = std::get<Request>(std::move(request));
    if (!parser_->is_done() && message[wire::field::expect] == "100-continue") {
      on_stream([&](auto& stream) {
        asio::async_write(stream, asio::buffer(go_on.data(), go_on.size()),
                          [self = shared_from_this()](const error_code& error, std::size_t) {
                            if (error) return self->close();
                            self->read_rest();
                          });
      });
      return;
    }
    read_rest();
  }

  void read_rest() {
    on_stream([&](auto& stream) {
      wire::async_read(stream, buffer_, *parser_,
                       [self = shared_from_this()](const error_code& error, std::size_t) {
                         if (error) return self->refuse(error);
                         self->handle();
                       });
    });
  }

  void refuse(const error_code& error) {
    const int status = status_of(error);
    if (phase_ == Phase::closed || status == 0) return close();
    refuse(status);
  }

  void refuse(int status) {
    enter(Phase::answering, core_.options().answer_time);
    keeps_alive_ = false;
    respond(++number_,
            text_response(status, wire::obsolete_reason(static_cast<wire::status>(status))));
  }

  void handle() {
    request_.body = std::move(parser_->get().body());
    enter(Phase::answering, core_.options().answer_time);
    ++number_;
    core_.handle(std::exchange(request_, {}), shared_from_this());
  }

  void written(const error_code& error) {
    if (error) return close();
    serializer_.reset();
    answer_.reset();
    if (start_stream_) return begin_stream();
    if (!keeps_alive_) return finish();
    only_head_ = false;
    wait_for_request(core_.options().idle_time);
  }

  void begin_stream() {
    enter(Phase::streaming, 0ms);
    deadline_ = no_deadline;
    discard();  // notices that the client has left
    const auto start = std::exchange(start_stream_, nullptr);
    start(Stream{sink_});
  }

  /// Whatever is still sent.
  void discard() {
    on_stream([&](auto& stream) {
      stream.async_read_some(asio::buffer(discarded_),
                             [self = shared_from_this()](const error_code& error, std::size_t) {
                               if (error) return self->close();
                               self->discard();
                             });
    });
  }

  void write_queue() {
    if (writing_ || queue_.empty()) return;
    writing_ = true;
    std::vector<asio::const_buffer> pieces;
    for (std::size_t i = 0; i < std::min(queue_.size(), most_pieces); ++i) {
      pieces.emplace_back(queue_[i]->data(), queue_[i]->size());
    }
    deadline_ = steady_clock::now() + core_.options().answer_time;
    on_stream([&](auto& stream) {
      asio::async_write(
          stream, pieces,
          [self = shared_from_this(), count = pieces.size()](const error_code& error, std::size_t) {
            self->queue_written(error, count);
          });
    });
  }

  void queue_written(const error_code& error, std::size_t count) {
    writing_ = false;
    if (error || phase_ != Phase::streaming) return close();
    deadline_ = no_deadline;
    for (; count > 0; --count) {
      sink_->written(queue_.front()->size());
      queue_.pop_front();
    }
    write_queue();
    if (ending_ && !writing_) finish();
  }

  /// No request comes after the answer that was sent.
  void finish() {
    const bool reads = phase_ == Phase::streaming;
    leave_stream();
    enter(Phase::lingering, linger_time);
    if (tls_) {
      tls_->async_shutdown([self = shared_from_this()](const error_code&) { self->close(); });
      return;
    }
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    if (!reads) discard();
  }

  void leave_stream() {
    if (!sink_) return;
    sink_->closed();
    sink_.reset();
    queue_.clear();
    core_.give_stream_back();
  }

  ServerCore& core_;
  tcp::socket socket_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;
  std::string peer_;
  beast::flat_buffer buffer_;
  Phase phase_ = Phase::idle;
  steady_clock::time_point since_ = steady_clock::now();
  steady_clock::time_point deadline_ = no_deadline;

  // the request
  std::uint64_t number_ = 0;
  std::unique_ptr<Parser> parser_;
  Request request_;
  unsigned version_ = 11;
  bool keeps_alive_ = false;
  bool only_head_ = false;

  // the answer
  std::optional<Answer> answer_;
  std::optional<wire::response_serializer<wire::string_body>> serializer_;
  std::function<void(Stream)> start_stream_;

  // the stream
  std::shared_ptr<Stream::Sink> sink_;
  std::deque<std::shared_ptr<const std::string>> queue_;
  std::array<char, 1024> discarded_{};
  bool writing_ = false;
  bool ending_ = false;
};

void Connection::respond(std::uint64_t number, Response response) {
  if (phase_ != Phase::answering || number != number_) return;
  const bool streams = static_cast<bool>(response.stream) && !only_head_;
  if (streams && !core_.take_stream()) {
    response = text_response(503, "too many streams");
  } else if (streams) {
    start_stream_ = std::move(response.stream);
    sink_ = std::make_shared<Stream::Sink>(core_.weak_from_this(), weak_from_this(),
                                           core_.options().stream_bytes);
  }
  const bool endless = response.stream || start_stream_;
  if (endless) keeps_alive_ = false;  // its end is the end of the body

  auto& answer = answer_.emplace(static_cast<wire::status>(response.status), version_);
  answer.set(wire::field::cache_control, "no-store");
  answer.set("X-Content-Type-Options", "nosniff");
  if (!response.content_type.empty() && (!response.body.empty() || endless)) {
    answer.set(wire::field::content_type, header_value(response.content_type));
  }
  for (const Header& header : response.headers) {
    answer.set(header.name, header_value(header.value));
  }
  answer.keep_alive(keeps_alive_);
  if (!endless && response.status != 204 && response.status != 304) {
    answer.content_length(response.body.size());
  }
  answer.body() = std::move(response.body);
  serializer_.emplace(answer);

  enter(Phase::writing, core_.options().answer_time);
  const auto done = [self = shared_from_this()](const error_code& error, std::size_t) {
    self->written(error);
  };
  on_stream([&](auto& stream) {
    if (only_head_ || start_stream_) {
      wire::async_write_header(stream, *serializer_, done);
    } else {
      wire::async_write(stream, *serializer_, done);
    }
  });
}

ServerCore::ServerCore(const ListenAddress& address, Handler handler, ServerOptions options)
    : handler_{std::move(handler)},
      options_{std::move(options)},
      log_{options_.log ? options_.log : make_null_logger()},
      tls_{options_.tls ? make_server_tls(*options_.tls) : nullptr},
      address_{address} {
  listen();
}

void ServerCore::listen() {
  const auto fail = [&](int error) {
    throw Error{
        ErrorKind::configuration,
        fmt::format("cannot listen on {}: {}{}", detail::host_text(address_.host, address_.port),
                    std::generic_category().message(error),
                    error == EADDRINUSE ? "; choose another port, or 0 for any that is free"
                    : error == EACCES   ? "; choose a port above 1023"
                                        : "")};
  };
  error_code error;
  const tcp::endpoint endpoint{asio::ip::make_address(address_.host, error), address_.port};
  if (error) fail(EINVAL);
  const int made =
      ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) fail(errno);
  acceptor_.assign(endpoint.protocol(), made, error);
  if (error) {
    ::close(made);
    fail(error.value());
  }
  acceptor_.set_option(tcp::acceptor::reuse_address{true}, error);
  acceptor_.bind(endpoint, error);
  if (error) fail(error.value());
  acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  if (error) fail(error.value());
  address_.port = acceptor_.local_endpoint().port();
}

void ServerCore::run() noexcept {
  for (bool begun = false;;) {
    try {
      if (!std::exchange(begun, true)) {
        wait_for_connections();
        tick_later();
      }
      io_.run();
      break;
    } catch (const ServerLeftInChild&) {
      return;
    } catch (...) {
      detail::log_current_exception(*log_, "the HTTP server");
    }
  }
  try {
    {
      const std::lock_guard lock{mutex_};
      closed_ = true;
    }
    io_.restart();
    io_.poll();
  } catch (...) {
    detail::log_current_exception(*log_, "the end of the HTTP server");
  }
}

/// Without anything to wait for the loop ends.
void ServerCore::stop() {
  stopping_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  accept_pause_.cancel();
  sweep_.cancel();
  tick_.cancel();
  const auto all = std::exchange(connections_, {});
  for (const auto& [key, connection] : all) connection->close();
  work_.reset();
}

void ServerCore::handle(Request request, const std::shared_ptr<Connection>& connection) {
  const Responder responder{std::make_shared<Responder::Pending>(weak_from_this(), connection,
                                                                 connection->request_number())};
  try {
    handler_(std::move(request), responder);
  } catch (...) {
    detail::log_current_exception(*log_, "a handler of HTTP requests");
    responder(text_response(500, "internal error; see the log"));
  }
  if (in_forked_child()) throw ServerLeftInChild{};
}

void ServerCore::forget(const Connection* connection) { connections_.erase(connection); }

bool ServerCore::take_stream() noexcept {
  if (streams_ >= options_.most_streams) return false;
  ++streams_;
  return true;
}

void ServerCore::wait_for_connections() {
  if (stopping_) return;
  acceptor_.async_wait(tcp::acceptor::wait_read, [this](const error_code& error) {
    if (!error) accept();
  });
}

void ServerCore::accept() {
  for (;;) {
    const int descriptor =
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) {
      admit(descriptor);
    } else if (errno == EAGAIN) {
      return wait_for_connections();
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;  // no descriptor, or no memory
    }
  }
  accept_pause_.expires_after(100ms);
  accept_pause_.async_wait([this](const error_code& error) {
    if (!error) wait_for_connections();
  });
}

void ServerCore::admit(int descriptor) {
  tcp::socket socket{io_};
  error_code error;
  socket.assign(acceptor_.local_endpoint().protocol(), descriptor, error);
  if (error) {
    ::close(descriptor);
    return;
  }
  const auto set = [descriptor](int level, int name, int value) {
    ::setsockopt(descriptor, level, name, &value, sizeof value);  // where it fails, time limits do
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // Notices that the host at the other end of a stream is gone.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  if (!make_room()) return;
  const auto connection = std::make_shared<Connection>(*this, std::move(socket));
  connections_.emplace(connection.get(), connection);
  if (!std::exchange(sweeping_, true)) sweep_later();
  connection->begin();
}

bool ServerCore::make_room() {
  if (connections_.size() < options_.most_connections) return true;
  std::shared_ptr<Connection> longest;
  for (const auto& [key, connection] : connections_) {
    const auto since = connection->waits_since();
    if (since && (!longest || *since < longest->waits_since())) longest = connection;
  }
  if (!longest) return false;
  longest->close();
  return true;
}

void ServerCore::sweep_later() {
  sweep_.expires_after(sweep_interval);
  sweep_.async_wait([this](const error_code& error) {
    if (error || stopping_) return;
    const auto now = steady_clock::now();
    std::vector<std::shared_ptr<Connection>> overdue;
    for (const auto& [key, connection] : connections_) {
      if (connection->is_overdue(now)) overdue.push_back(connection);
    }
    for (const auto& connection : overdue) connection->end_overdue();
    sweeping_ = !connections_.empty();
    if (sweeping_) sweep_later();
  });
}

void ServerCore::tick_later() {
  if (!options_.each_second || stopping_) return;
  tick_.expires_after(1s);
  tick_.async_wait([this](const error_code& error) {
    if (error || stopping_) return;
    tick_later();
    options_.each_second();
    if (in_forked_child()) throw ServerLeftInChild{};
  });
}

bool Stream::Sink::send(const std::shared_ptr<const std::string>& text) {
  const auto core = core_.lock();
  if (!open_ || !core || core->in_forked_child()) return false;
  const std::size_t size = text->size();
  const bool fits = waiting_.fetch_add(size) + size <= limit_;
  if (!fits) open_ = false;
  core->post([connection = connection_, text, fits] {
    const auto target = connection.lock();
    if (!target) return;
    if (fits) {
      target->queue(text);
    } else {
      target->close();
    }
  });
  return fits;
}

void Stream::Sink::close() {
  const auto core = core_.lock();
  if (!open_.exchange(false) || !core) return;
  core->post([connection = connection_] {
    if (const auto target = connection.lock()) target->end_stream();
  });
}

bool Stream::send(const std::shared_ptr<const std::string>& text) const {
  return sink_->send(text);
}

bool Stream::send(std::string text) const {
  return send(std::make_shared<const std::string>(std::move(text)));
}

void Stream::close() const { sink_->close(); }

Responder::Pending::~Pending() {
  try {
    answer(text_response(500, "no answer"));
  } catch (...) {  // out of memory: the time limit ends the request
    answered_ = true;
  }
}

void Responder::Pending::answer(Response response) {
  const auto core = core_.lock();
  if (answered_.exchange(true) || !core) return;
  core->post(
      [connection = connection_, number = number_, response = std::move(response)]() mutable {
        if (const auto target = connection.lock()) target->respond(number, std::move(response));
      });
}

void Responder::operator()(Response response) const { pending_->answer(std::move(response)); }

Handler answering(std::function<Response(const Request&)> answer) {
  return [answer = std::move(answer)](const Request& request, const Responder& respond) {
    respond(answer(request));
  };
}

ListenAddress parse_listen_address(std::string_view text, std::string_view where) {
  const auto refused = [&](std::string_view why) {
    return InvalidArgumentError{fmt::format(
        "{} '{}' {}; write ADDRESS:PORT, for example 127.0.0.1:8080 for this host only, or "
        "0.0.0.0:8080 for all",
        where, detail::excerpt(text), why)};
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) throw refused("has no port");
  std::string host{text.substr(0, colon)};
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  const auto port = detail::parse_number<std::uint16_t>(text.substr(colon + 1));
  if (!port) throw refused("has no valid port (0 to 65535)");
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error || (address.is_v6() && !text.starts_with('[')))
    throw refused("does not begin with an address");
  return {.host = host, .port = *port};
}

ParsedRequest parse_request(std::string_view bytes, const ServerOptions& limits) {
  Parser parser;
  set_limits(parser, limits);
  std::optional<Request> request;
  while (!parser.is_done()) {
    error_code error;
    const std::size_t taken = parser.put(asio::buffer(bytes.data(), bytes.size()), error);
    if (error == wire::error::need_more || (!error && taken == 0)) return {};
    if (error) return {.refused = status_of(error)};
    bytes.remove_prefix(taken);
    if (request || !parser.is_header_done()) continue;
    auto read = to_request(parser.get(), {}, limits);
    if (const int* const status = std::get_if<int>(&read)) return {.refused = *status};
    request = std::get<Request>(std::move(read));
  }
  if (request) request->body = std::move(parser.get().body());
  return {.request = std::move(request)};
}

class Server::Impl {
 public:
  Impl(const ListenAddress& address, Handler handler, ServerOptions options)
      : parts_{std::make_shared<ServerCore>(address, std::move(handler), std::move(options))} {
    parts_->threads.start("simba-http", [core = parts_->core] { core->run(); });
  }

  ~Impl() {
    if (parts_->in_forked_child()) return;
    parts_->core->post([core = parts_->core.get()] { core->stop(); });
    parts_->threads.join_or_let_go(patience_at_end);
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const ListenAddress& address() const noexcept { return parts_->core->address(); }

 private:
  struct Parts {
    explicit Parts(std::shared_ptr<ServerCore> the_core) : core{std::move(the_core)} {}
    bool in_forked_child() const noexcept { return core->in_forked_child(); }

    const std::shared_ptr<ServerCore> core;
    detail::BoundedThreads threads{};
  };

  detail::LeakedInChild<Parts> parts_;
};

Server::Server(const ListenAddress& address, Handler handler, ServerOptions options)
    : impl_{std::make_unique<Impl>(address, std::move(handler), std::move(options))} {}

Server::~Server() = default;

const ListenAddress& Server::address() const noexcept { return impl_->address(); }

}  // namespace simba::http
