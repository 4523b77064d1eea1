#include "mysql/settings.hpp"

#include <fmt/format.h>

#include "core/checks.hpp"
#include "core/plain_password.hpp"
#include "core/text.hpp"
#include "simba/core/names.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::mysql {
namespace {

constexpr std::size_t longest_socket_path = 107;

void check_text(std::string_view name, const std::string& value) {
  check_not_blank(name, value);
  detail::check_no_nul(name, value);
}

void check_tls(const TlsOptions& tls) {
  const bool files = !tls.ca_file.empty() || !tls.certificate_file.empty() || !tls.key_file.empty();
  detail::require(
      uses_tls(tls.mode) || !files,
      "TLS files are set but tls.mode is off; set tls.mode to verify, or remove the files");
  detail::check_certificate(tls);
  detail::check_ca(tls.mode, tls.ca_file);
  detail::require(
      tls.mode != TlsMode::encrypt || tls.ca_file.empty(),
      "tls.ca_file is set but tls.mode \"encrypt\" checks no certificate; use verify_ca or "
      "verify");
}

const MySqlOptions& checked_options(const MySqlOptions& options) {
  if (options.unix_socket.empty()) {
    check_text("host", options.host);
    detail::require(options.port != 0, "port must be between 1 and 65535 (got 0)");
  } else {
    check_text("unix_socket", options.unix_socket);
    detail::require(options.unix_socket.size() <= longest_socket_path,
                    fmt::format("unix_socket must be at most {} bytes long (got {})",
                                longest_socket_path, options.unix_socket.size()));
  }
  if (!options.credentials) check_text("user", options.user);
  check_text("database", options.database);
  detail::check_no_nul("password", options.password.reveal());
  if (options.unix_socket.empty()) {
    detail::check_plain_password(options.tls.mode, options.host, options.password,
                                 options.credentials);
  }
  check_tls(options.tls);
  detail::require(
      options.unix_socket.empty() || !uses_tls(options.tls.mode),
      "tls.mode must be off for a unix_socket, which leads to a server on the same host");
  return options;
}

std::string place_of(const MySqlOptions& options) {
  if (!options.unix_socket.empty()) return options.unix_socket;
  return detail::host_text(options.host, options.port);
}

}  // namespace

Settings::Settings(const MySqlOptions& checked)
    : options{checked_options(checked)},
      place{place_of(options)},
      statement_timeout{options.sql.statement_timeout.value_or(
          ContentionPlan{options.sql.contention}.request_timeout)},
      pool_size{options.sql.pool_size.value_or(default_pool_size)} {}

bool Settings::trusts_server() const noexcept {
  return !options.unix_socket.empty() || options.tls.mode == TlsMode::verify ||
         options.tls.mode == TlsMode::verify_ca;
}

}  // namespace simba::mysql
