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
  require(value.find('\0') == std::string::npos, fmt::format("{} has a NUL character", name));
}

void check_tls(const TlsOptions& tls) {
  const bool files = !tls.ca_file.empty() || !tls.certificate_file.empty() || !tls.key_file.empty();
  require(tls.mode != TlsMode::off || !files,
          "tls.mode is off although files for TLS are given; choose a mode, or leave them out");
  require(tls.certificate_file.empty() == tls.key_file.empty(),
          "tls.certificate_file and tls.key_file must be given together");
  require(tls.mode != TlsMode::encrypt || tls.ca_file.empty(),
          "tls.ca_file is given although tls.mode \"encrypt\" checks no certificate; use verify_ca "
          "or verify");
}

const MySqlOptions& checked_options(const MySqlOptions& options) {
  if (options.unix_socket.empty()) {
    check_text("host", options.host);
    require(options.port != 0, "port is 0 but must be in [1, 65535]");
  } else {
    check_text("unix_socket", options.unix_socket);
    require(options.unix_socket.size() <= longest_socket_path,
            fmt::format("unix_socket is {} bytes long, more than the {} allowed",
                        options.unix_socket.size(), longest_socket_path));
  }
  check_text("user", options.user);
  check_text("database", options.database);
  require(options.password.reveal().find('\0') == std::string::npos,
          "password has a NUL character");
  require(options.hint_connections <= most_hint_connections,
          fmt::format("hint_connections is {} but must be at most {}", options.hint_connections,
                      most_hint_connections));
  check_tls(options.tls);
  require(options.unix_socket.empty() || options.tls.mode != TlsMode::verify,
          "tls.mode is verify, but a unix_socket has no host name to verify; use verify_ca");
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
