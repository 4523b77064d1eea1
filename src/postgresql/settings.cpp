#include "postgresql/settings.hpp"

#include <cstdlib>
#include <libpq-fe.h>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/checks.hpp"
#include "core/current_credentials.hpp"
#include "core/host_list.hpp"
#include "core/plain_password.hpp"
#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

/// What libpq would take where nothing is said: of its variables, of a service, or built in.
class LibpqDefaults {
 public:
  std::string value(std::string_view keyword) const {
    const PQconninfoOption* const option = find(keyword);
    return option == nullptr || option->val == nullptr ? "" : option->val;
  }

  /// Empty where it is what is built in, unless that is in its variable.
  std::string value_if_set(std::string_view keyword) const {
    const PQconninfoOption* const option = find(keyword);
    if (option == nullptr || option->val == nullptr) return {};
    const bool in_variable =
        option->envvar != nullptr &&
        std::getenv(option->envvar) != nullptr;  // NOLINT(concurrency-mt-unsafe)
    const bool is_built_in =
        option->compiled != nullptr && std::string_view{option->val} == option->compiled;
    return is_built_in && !in_variable ? "" : option->val;
  }

 private:
  const PQconninfoOption* find(std::string_view keyword) const {
    for (const PQconninfoOption* option = options_.get();
         option != nullptr && option->keyword != nullptr; ++option) {
      if (option->keyword == keyword) return option;
    }
    return nullptr;
  }

  std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options_{PQconndefaults(),
                                                                          &PQconninfoFree};
};

const char* ssl_mode(TlsMode mode) noexcept {
  switch (mode) {
    case TlsMode::unset:
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

/// For `verify` the CAs that the system trusts, if neither the options nor the environment name
/// any: libpq 15 has no setting that means these.
std::string ca_file(const TlsOptions& tls, const LibpqDefaults& defaults) {
  const bool verified = tls.mode == TlsMode::verify_ca || tls.mode == TlsMode::verify;
  if (!tls.ca_file.empty() || !verified) return tls.ca_file;
  const std::string environment = defaults.value("sslrootcert");
  detail::check_ca(tls.mode, environment);
  return environment.empty() ? "/etc/ssl/certs/ca-certificates.crt" : environment;
}

std::string name_of(const std::vector<ServerAddress>& addresses) {
  std::string name = "PostgreSQL at ";
  for (const auto& [host, port] : addresses) {
    if (&host != &addresses.front().host) name += ", ";
    name += detail::host_text(host, port);
  }
  return name;
}

/// The mode of PGSSLMODE, PGREQUIRESSL or a service counts like PGPASSWORD: where the options are
/// silent. Empty: nobody has set one.
std::string mode_of_environment(const TlsOptions& tls, const LibpqDefaults& defaults) {
  return tls.mode == TlsMode::unset ? defaults.value_if_set("sslmode") : std::string{};
}

/// "allow" and "prefer" leave it to whoever answers.
bool is_chosen(const TlsOptions& tls, std::string_view mode_of_environment) noexcept {
  return tls.mode != TlsMode::unset ||
         (!mode_of_environment.empty() && mode_of_environment != "allow" &&
          mode_of_environment != "prefer");
}

/// libpq would connect to an address of the environment instead of the host that is named here, and
/// lets nobody say that there is none.
void check_environment(const PostgreSqlOptions& options, const LibpqDefaults& defaults) {
  if (const std::string address = defaults.value("hostaddr"); !address.empty()) {
    throw Error{
        ErrorKind::configuration,
        fmt::format("PGHOSTADDR or PGSERVICE would make libpq connect to {} instead of host {}; "
                    "unset the variable",
                    address, options.host)};
  }
  if (options.tls.mode == TlsMode::unset && defaults.value("gssencmode") == "require") {
    throw Error{ErrorKind::configuration,
                "PGGSSENCMODE or PGSERVICE requires GSSAPI encryption, which Simba does not use; "
                "set tls.mode"};
  }
}

}  // namespace

std::vector<ServerAddress> addresses_of(const PostgreSqlOptions& options) {
  std::vector<ServerAddress> addresses;
  for (detail::HostPort& host : detail::parse_hosts(options.host, "the list of PostgreSQL hosts",
                                                    detail::BareIpv6::accepted)) {
    addresses.push_back({.host = std::move(host.host), .port = host.port.value_or(options.port)});
  }
  return addresses;
}

// libpq takes an empty value for one that is not given.
ConnectSettings::ConnectSettings(const PostgreSqlOptions& options)
    : addresses_{addresses_of(options)},
      name_{name_of(addresses_)},
      pooled_{options.listen == Listen::no},
      fixed_{.user = options.user, .password = options.password},
      source_{options.credentials} {
  const LibpqDefaults defaults;
  check_environment(options, defaults);
  const std::string mode = mode_of_environment(options.tls, defaults);
  settings_ = {{"dbname", options.database},
               {"sslmode", mode.empty() ? ssl_mode(options.tls.mode) : mode},
               {"target_session_attrs", addresses_.size() > 1 ? "read-write" : ""},
               {"sslrootcert", ca_file(options.tls, defaults)},
               {"sslcert", options.tls.certificate_file},
               {"sslkey", options.tls.key_file},
               {"gssencmode", "disable"},
               {"application_name", "simba"},
               {"client_encoding", "UTF8"},
               {"keepalives", "1"},
               {"keepalives_idle", "10"},
               {"keepalives_interval", "3"},
               {"keepalives_count", "3"}};
  tls_chosen_ = is_chosen(options.tls, mode);
  if (tls_chosen_) return;
  for (const auto& address : addresses_) {
    detail::check_plain_password(options.tls.mode, address.host, options.password,
                                 options.credentials);
  }
}

bool ConnectSettings::may_send_password(std::string_view host) const {
  return tls_chosen_ || detail::is_this_host(host);
}

PGconn* ConnectSettings::start(std::size_t first_host) const {
  const Credentials login =
      source_ ? detail::current_credentials(source_, fixed_.user, name_) : fixed_;
  std::string hosts;
  std::string ports;
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    const auto& [host, port] = addresses_[(first_host + i) % addresses_.size()];
    hosts += (i == 0 ? "" : ",") + host;
    ports += (i == 0 ? "" : ",") + fmt::to_string(port);
  }
  std::vector<const char*> keywords{"host", "port", "user", "password"};
  std::vector<const char*> values{hosts.c_str(), ports.c_str(), login.user.c_str(),
                                  login.password.reveal().c_str()};
  for (const Setting& setting : settings_) {
    keywords.push_back(setting.keyword);
    values.push_back(setting.value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return PQconnectStartParams(keywords.data(), values.data(), 0);
}

}  // namespace simba::postgresql
