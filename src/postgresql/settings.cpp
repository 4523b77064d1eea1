#include "postgresql/settings.hpp"

#include <libpq-fe.h>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

const char* ssl_mode(TlsMode mode) noexcept {
  switch (mode) {
    case TlsMode::off:
      return "disable";
    case TlsMode::encrypt:
      return "require";
    case TlsMode::verify_ca:
      return "verify-ca";
    case TlsMode::verify:
      return "verify-full";
  }
  return "verify-full";
}

/// The CAs that the system trusts. libpq 15 has no name for them.
std::string ca_file(const TlsOptions& tls) {
  const bool verified = tls.mode == TlsMode::verify_ca || tls.mode == TlsMode::verify;
  if (!tls.ca_file.empty() || !verified) return tls.ca_file;
  return "/etc/ssl/certs/ca-certificates.crt";
}

std::string name_of(const PostgreSqlOptions& options) {
  const bool brackets = options.host.find(':') != std::string::npos;
  return brackets ? fmt::format("PostgreSQL at [{}]:{}", options.host, options.port)
                  : fmt::format("PostgreSQL at {}:{}", options.host, options.port);
}

/// libpq would connect to an address of the environment instead of the host that is named here, and
/// lets nobody say that there is none.
void check_environment(const PostgreSqlOptions& options) {
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> defaults{PQconndefaults(),
                                                                                &PQconninfoFree};
  const PQconninfoOption* option = defaults.get();
  for (; option != nullptr && option->keyword != nullptr; ++option) {
    const bool other_address = std::string_view{option->keyword} == "hostaddr" &&
                               option->val != nullptr && *option->val != '\0';
    if (!other_address) continue;
    throw Error{
        ErrorKind::configuration,
        fmt::format("PGHOSTADDR or PGSERVICE would make libpq connect to {} instead of host {}; "
                    "unset the variable",
                    option->val, options.host)};
  }
}

}  // namespace

// libpq takes an empty value for one that is not given.
ConnectSettings::ConnectSettings(const PostgreSqlOptions& options)
    : name_{name_of(options)},
      pooled_{options.listen == Listen::no},
      settings_{{"host", options.host},
                {"port", fmt::to_string(options.port)},
                {"user", options.user},
                {"password", options.password.reveal()},
                {"dbname", options.database},
                {"sslmode", ssl_mode(options.tls.mode)},
                {"sslrootcert", ca_file(options.tls)},
                {"sslcert", options.tls.certificate_file},
                {"sslkey", options.tls.key_file},
                {"gssencmode", "disable"},
                {"application_name", "simba"},
                {"client_encoding", "UTF8"},
                {"keepalives", "1"},
                {"keepalives_idle", "10"},
                {"keepalives_interval", "3"},
                {"keepalives_count", "3"}} {
  check_environment(options);
}

PGconn* ConnectSettings::start() const {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const Setting& setting : settings_) {
    keywords.push_back(setting.keyword);
    values.push_back(setting.value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return PQconnectStartParams(keywords.data(), values.data(), 0);
}

}  // namespace simba::postgresql
