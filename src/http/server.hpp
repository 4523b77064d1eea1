#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.hpp"
#include "simba/core/log.hpp"

namespace simba::http {

/// Where to listen.
struct ListenAddress {
  std::string host{};  ///< an address, without brackets
  std::uint16_t port = 0;

  /// Whether only this host can connect.
  [[nodiscard]] bool is_loopback() const { return is_loopback_address(host); }
};

/// Reads "127.0.0.1:8080", "[::1]:8080" or "localhost:8080"; port 0: any that is free. Throws
/// InvalidArgumentError that begins with `where`.
ListenAddress parse_listen_address(std::string_view text, std::string_view where);

/// Answers one request, once, from any thread; what comes after that is ignored. If it is dropped
/// without an answer the client gets 500.
class Responder {
 public:
  class Pending;
  explicit Responder(std::shared_ptr<Pending> pending) : pending_{std::move(pending)} {}

  void operator()(Response response) const;

 private:
  std::shared_ptr<Pending> pending_;
};

/// Called on the server's thread for each request. It must not block: what takes long is done
/// elsewhere and answered later. An exception is logged and answered by 500.
using Handler = std::function<void(Request, const Responder&)>;

/// A handler that answers at once.
Handler answering(std::function<Response(const Request&)> answer);

/// Files in PEM format.
struct ServerTls {
  std::string certificate_file{};  ///< with the chain up to the CA
  std::string key_file{};
};

struct ServerOptions {
  std::size_t most_connections = 512;
  std::size_t most_streams = 256;
  std::size_t header_bytes = std::size_t{8} * 1024;  ///< with the request line; beyond it: 431
  std::size_t body_bytes = std::size_t{64} * 1024;   ///< beyond it: 413
  std::size_t stream_bytes =
      std::size_t{1024} * 1024;  ///< what may wait for the client of a stream

  std::chrono::milliseconds request_time{
      10'000};                                  ///< for a request, from its first byte to its last
  std::chrono::milliseconds idle_time{60'000};  ///< between requests
  std::chrono::milliseconds answer_time{30'000};  ///< for the handler; for the client to take it

  std::optional<ServerTls> tls{};       ///< TLS 1.2 or later
  std::function<void()> each_second{};  ///< called on the server's thread; must not block
  std::shared_ptr<Logger> log{};        ///< empty: nothing is logged
};

/// An HTTP/1.1 server on one thread, for pages and probes of this process, not for the open
/// Internet. Whatever clients send or fail to read costs bounded memory and time.
///
/// What may happen on a connection, and what is done:
///   too many connections   the one that has been waiting for a request for longest is closed; if
///                          none waits, the new one.
///   idle, slow, stuck      closed at the end of the time it has.
///   garbage                400; too long a header 431; too long a body 413; then closed.
///   pipelined requests     answered in order, one after the other.
///   no descriptor left     accepting pauses for 100 ms.
///
/// Threads: the constructor and destructor are for its owner, the handler see there.
/// Lifetime: the destructor closes all connections, and returns within about a second; a handler
/// that blocks longer is let go and never called again. In a forked child nothing is served, and
/// the destructor does nothing.
class Server {
 public:
  /// Listens when it returns. Throws Error of kind `configuration` where that address is not to be
  /// had or a TLS file is wrong, and std::system_error if the system gives no thread.
  Server(const ListenAddress& address, Handler handler, ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Where it listens, with the port that was found.
  [[nodiscard]] const ListenAddress& address() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// What the server makes of bytes that begin with a request: the request, or the status that they
/// are refused with; 0 where more bytes must come first.
struct ParsedRequest {
  std::optional<Request> request{};
  int refused = 0;
};
ParsedRequest parse_request(std::string_view bytes, const ServerOptions& limits = {});

}  // namespace simba::http
