#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <asio/basic_stream_socket.hpp>
#include <asio/buffer.hpp>
#include <asio/error_code.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/write.hpp>

#include "redis/connection/resolver.hpp"
#include "simba/core/tls_options.hpp"

namespace simba::redis {

/// The message of `error` as it reads within a sentence, e.g. "connection refused".
std::string reason_of(const asio::error_code& error);

/// A stream of bytes to one address: TCP or Unix, plain or TLS.
///
/// Threads: used on the loop's thread only, but for `try_write`.
/// Handlers are called on the loop's thread, never inside a call, and hold this object.
class Transport {
 public:
  /// Plain where `tls` is empty. What the server's host has not acknowledged within `patience`
  /// breaks the connection.
  Transport(asio::io_context& io, std::shared_ptr<asio::ssl::context> tls,
            std::chrono::milliseconds patience)
      : tls_context_{std::move(tls)}, patience_{patience}, socket_{io} {}

  /// Begins to connect: handler(error_code). Throws Error (unavailable) if there is no socket.
  template <typename Handler>
  void connect(const Address& address, Handler handler) {
    make_socket(address);
    socket_.async_connect(address, std::move(handler));
  }

  /// Begins the handshake of TLS: handler(error_code). Only where it is not plain.
  template <typename Handler>
  void secure(TlsMode mode, const std::string& host, Handler handler) {
    make_tls(mode, host).async_handshake(asio::ssl::stream_base::client, std::move(handler));
  }

  /// handler(error_code, size_t)
  template <typename Handler>
  void read(asio::mutable_buffer buffer, Handler handler) {
    if (tls_) {
      tls_->async_read_some(buffer, std::move(handler));
    } else {
      socket_.async_read_some(buffer, std::move(handler));
    }
  }

  /// Writes all of it: handler(error_code, size_t). One at a time.
  template <typename Handler>
  void write(asio::const_buffer buffer, Handler handler) {
    if (tls_) {
      asio::async_write(*tls_, buffer, std::move(handler));
    } else {
      asio::async_write(socket_, buffer, std::move(handler));
    }
  }

  /// Waits until something can be written: handler(error_code). Only where it is plain.
  template <typename Handler>
  void wait_writable(Handler handler) {
    socket_.async_wait(Socket::wait_write, std::move(handler));
  }

  bool plain() const noexcept { return !tls_context_; }

  /// Writes what can be written at once and returns how much that was; 0 with an `error`. Only
  /// where it is plain and connected.
  /// Threads: any, but not while close() runs.
  std::size_t try_write(std::string_view bytes, asio::error_code& error) noexcept;

  /// True if a socket on this host was connected to itself, as can happen where nobody listens.
  bool met_itself() const;

  /// Why the certificate of the server was refused; empty: it was not.
  std::string certificate_refusal();

  /// What is under way ends with operation_aborted. May be called again.
  void close() noexcept;

 private:
  using Socket =
      asio::basic_stream_socket<asio::generic::stream_protocol, asio::io_context::executor_type>;

  void make_socket(const Address& address);
  asio::ssl::stream<Socket&>& make_tls(TlsMode mode, const std::string& host);

  const std::shared_ptr<asio::ssl::context> tls_context_;
  const std::chrono::milliseconds patience_;
  Socket socket_;
  int descriptor_ = -1;
  std::optional<asio::ssl::stream<Socket&>> tls_;
};

}  // namespace simba::redis
