#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simba::http {

struct Header {
  std::string name{};
  std::string value{};

  friend bool operator==(const Header&, const Header&) = default;
};

/// What a client asks, with all limits kept. It is a stranger's text, but for `method`, `path` and
/// `query`, which hold no control characters.
struct Request {
  std::string method{};  ///< "GET"
  std::string path{};    ///< begins with "/", as it was sent: see `percent_decoded`; or is "*"
  std::string query{};   ///< what stood after "?"
  std::vector<Header> headers{};
  std::string body{};
  std::string peer{};  ///< the client's address

  /// The value of the first header of that name, whose case does not matter; empty: none.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept;

  /// The decoded value of the first parameter `name` of the query; nothing: none, or no valid one.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;

  /// The value of a cookie; empty: none.
  [[nodiscard]] std::string_view cookie(std::string_view name) const noexcept;

  friend bool operator==(const Request&, const Request&) = default;
};

/// An answer that goes on, e.g. server-sent events. A handle; copies are the same stream.
///
/// Threads: every function may be called from any thread. None blocks.
/// Lifetime: may outlive the server.
class Stream {
 public:
  class Sink;
  explicit Stream(std::shared_ptr<Sink> sink) : sink_{std::move(sink)} {}

  /// Sends more, which may be shared with other streams. A client that reads too slowly, so that
  /// more than `ServerOptions::stream_bytes` would wait, is dropped. Returns whether the stream is
  /// still open; text for one that is not is lost. That a client is gone may show only at a later
  /// call: send something from time to time.
  [[nodiscard]] bool send(const std::shared_ptr<const std::string>& text) const;
  [[nodiscard]] bool send(std::string text) const;

  /// Ends the answer once all has been sent.
  void close() const;

 private:
  std::shared_ptr<Sink> sink_;
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";  ///< left out where the body is empty
  std::string body{};
  std::vector<Header> headers{};  ///< control characters in values are left out

  /// Called on the server's thread once the headers are sent, if this is set: what it is given is
  /// the body. It must not block.
  std::function<void(Stream)> stream{};
};

/// A response with that status and a line of text.
Response text_response(int status, std::string_view text);

/// `%2F` as `/`. Nothing where an escape is not valid, or the text would hold a zero byte.
std::optional<std::string> percent_decoded(std::string_view text);

/// Takes as long wherever they differ. Not for secrets whose length is one.
bool equal_in_constant_time(std::string_view one, std::string_view other) noexcept;

/// The token of "Authorization: Bearer TOKEN"; empty: none.
std::string_view bearer_token(const Request& request) noexcept;

/// Whether `Host` is one that only this host can be called by: "localhost" or a loopback address,
/// with or without a port. A name that a stranger's page has made lead here is not (DNS rebinding).
/// True where there is none: every browser sends it.
bool names_loopback(const Request& request);

/// Whether that is an address of this host for itself, in brackets or not.
bool is_loopback_address(std::string_view address);

}  // namespace simba::http
