#include "mysql/client_options.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mysql.h>
#include <unistd.h>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::mysql {
namespace {

// The library runs an operation on a stack of its own, name resolution and TLS included.
constexpr unsigned long stack_size = 256UL * 1024;
constexpr unsigned long largest_answer = 16UL * 1024 * 1024;

constexpr const char* system_cas = "/etc/ssl/certs/ca-certificates.crt";

// None of them shows the password to whoever listens or answers.
constexpr const char* ways_to_authenticate =
    "mysql_native_password,client_ed25519,caching_sha2_password,sha256_password";

/// Half of the time for one address, so that a second one gets a try.
unsigned seconds_for_one_address(std::chrono::milliseconds connect_timeout) {
  const auto half = std::chrono::ceil<std::chrono::seconds>(connect_timeout / 2).count();
  return static_cast<unsigned>(std::clamp<std::int64_t>(half, 1, 3600));
}

void configure_tls(st_mysql& mysql, const TlsOptions& tls) {
  if (tls.mode == TlsMode::off) return;
  const my_bool yes = 1;
  ::mysql_optionsv(&mysql, MYSQL_OPT_SSL_ENFORCE, &yes);
  if (tls.mode != TlsMode::encrypt) {
    // The library checks the chain as soon as it has a CA.
    const char* file = tls.ca_file.empty() ? system_cas : tls.ca_file.c_str();
    if (::access(file, R_OK) != 0) {
      throw Error{ErrorKind::configuration,
                  fmt::format("cannot read CA file {}; check tls.ca_file", file)};
    }
    ::mysql_optionsv(&mysql, MYSQL_OPT_SSL_CA, file);
  }
  if (tls.mode == TlsMode::verify) {
    ::mysql_optionsv(&mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
  }
  if (!tls.certificate_file.empty()) {
    ::mysql_optionsv(&mysql, MYSQL_OPT_SSL_CERT, tls.certificate_file.c_str());
    ::mysql_optionsv(&mysql, MYSQL_OPT_SSL_KEY, tls.key_file.c_str());
  }
}

}  // namespace

void configure(st_mysql& mysql, const Settings& settings) {
  ::mysql_optionsv(&mysql, MYSQL_OPT_NONBLOCK, static_cast<const void*>(&stack_size));
  ::mysql_optionsv(&mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const unsigned no = 0;
  ::mysql_optionsv(&mysql, MYSQL_OPT_LOCAL_INFILE, &no);
  const unsigned seconds = seconds_for_one_address(settings.options.sql.connect_timeout);
  ::mysql_optionsv(&mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  ::mysql_optionsv(&mysql, MYSQL_OPT_MAX_ALLOWED_PACKET, &largest_answer);
  ::mysql_optionsv(&mysql, MARIADB_OPT_RESTRICTED_AUTH, ways_to_authenticate);
  ::mysql_optionsv(&mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "simba");
  configure_tls(mysql, settings.options.tls);
}

}  // namespace simba::mysql
