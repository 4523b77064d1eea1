#include "mysql/settings.hpp"

#include <fmt/format.h>

#include "simba/core/error.hpp"
#include "simba/core/names.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::mysql {
namespace {

constexpr std::size_t longest_socket_path = 107;
constexpr std::size_t most_hint_connections = 64;

void require(bool holds, const std::string& message) {
  if (!holds) throw InvalidArgumentError{message};
}

void check_text(std::string_view name, const std::string& value) {
  check_not_blank(name, value);
  require(value.find('\0') == std::string::npos,
          fmt::format("{} must not contain a NUL character", name));
}

void check_tls(const TlsOptions& tls) {
  const bool files = !tls.ca_file.empty() || !tls.certificate_file.empty() || !tls.key_file.empty();
  require(tls.mode != TlsMode::off || !files,
          "TLS files are set but tls.mode is off; set tls.mode to verify, or remove the files");
  require(tls.certificate_file.empty() == tls.key_file.empty(),
          "tls.certificate_file and tls.key_file must be set together");
  require(tls.mode != TlsMode::encrypt || tls.ca_file.empty(),
          "tls.ca_file is set but tls.mode \"encrypt\" checks no certificate; use verify_ca or "
          "verify");
}

const MySqlOptions& checked_options(const MySqlOptions& options) {
  if (options.unix_socket.empty()) {
    check_text("host", options.host);
    require(options.port != 0, "port must be between 1 and 65535 (got 0)");
  } else {
    check_text("unix_socket", options.unix_socket);
    require(options.unix_socket.size() <= longest_socket_path,
            fmt::format("unix_socket must be at most {} bytes long (got {})", longest_socket_path,
                        options.unix_socket.size()));
  }
  check_text("user", options.user);
  check_text("database", options.database);
  require(options.password.reveal().find('\0') == std::string::npos,
          "password must not contain a NUL character");
  require(options.hint_connections <= most_hint_connections,
          fmt::format("hint_connections must be at most {} (got {})", most_hint_connections,
                      options.hint_connections));
  check_tls(options.tls);
  require(options.unix_socket.empty() || options.tls.mode != TlsMode::verify,
          "tls.mode must not be verify for a unix_socket, which has no host name; use verify_ca");
  return options;
}

std::string place_of(const MySqlOptions& options) {
  if (!options.unix_socket.empty()) return options.unix_socket;
  const bool ipv6 = options.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", options.host, ipv6 ? "]" : "", options.port);
}

}  // namespace

Settings::Settings(const MySqlOptions& checked)
    : options{checked_options(checked)},
      place{place_of(options)},
      statement_timeout{options.sql.statement_timeout.value_or(
          engine::ContentionPlan{options.sql.contention}.request_timeout)} {}

}  // namespace simba::mysql
