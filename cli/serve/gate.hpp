#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"
#include "simba/core/secret.hpp"

namespace simba::cli::serve {

/// Who may ask what of `simba serve`: by the name that it is asked under, the token, the cookie of
/// a browser that has logged in, and where the page is that asks. Used by one thread.
class Gate {
 public:
  struct Options {
    Secret token{};                    ///< empty: everybody may read, and nobody act
    std::vector<std::string> hosts{};  ///< names beside the loopback's, in lower case, without port
    std::uint16_t port = 0;            ///< where it listens: tells our cookie from a neighbour's
    bool secure = false;               ///< whether that is over TLS
  };

  using Seconds = std::chrono::sys_seconds;

  explicit Gate(Options options) : options_{std::move(options)} {}

  bool has_token() const noexcept { return !options_.token.empty(); }

  /// Whether it asks under one of our names. A page whose own name was made to lead here (DNS
  /// rebinding) asks under that.
  bool knows_host(const http::Request& request) const;

  /// Whether it bears the token, or the cookie of a login that is not over.
  bool is_logged_in(const http::Request& request, Seconds now) const;

  /// Whether no page of others can have made the browser ask.
  bool is_of_our_page(const http::Request& request) const;

  /// The `Set-Cookie` of a login, if the token is right and not too many were wrong of late.
  std::optional<std::string> log_in(std::string_view token, Seconds now);

  /// The `Set-Cookie` that ends a login.
  std::string log_out() const;

  /// Whether so many wrong tokens came that none is looked at for some seconds.
  bool is_closed(Seconds now) const noexcept;

 private:
  std::string cookie_name() const;
  std::string cookie(std::string_view value, std::chrono::seconds age) const;
  std::string signature(std::string_view text) const;
  bool is_token(std::string_view text) const;

  const Options options_;
  Seconds window_{};
  std::size_t wrong_ = 0;  // tokens since then
};

/// Reads the token of a file: its first line. Throws Failure if the file cannot be read, others may
/// read it, or the token is shorter than 16 bytes or has other characters than printable ASCII.
Secret read_token(const std::string& file);

}  // namespace simba::cli::serve
