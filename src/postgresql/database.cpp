#include "postgresql/database.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/checks.hpp"
#include "postgresql/feed.hpp"
#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

/// Answers with the options themselves.
const PostgreSqlOptions& checked(const PostgreSqlOptions& options) {
  detail::check_no_nul("PostgreSQL host", options.host);
  detail::check_no_nul("PostgreSQL user", options.user);
  detail::check_no_nul("PostgreSQL password", options.password.reveal());
  detail::check_no_nul("PostgreSQL database", options.database);
  detail::check_no_nul("PostgreSQL ca_file", options.tls.ca_file);
  detail::check_no_nul("PostgreSQL certificate_file", options.tls.certificate_file);
  detail::check_no_nul("PostgreSQL key_file", options.tls.key_file);
  if (options.host.empty()) {
    throw InvalidArgumentError{
        "PostgreSQL host must not be empty; set it to a host or to the directory of a Unix socket"};
  }
  if (options.port == 0)
    throw InvalidArgumentError{"PostgreSQL port must be between 1 and 65535 (got 0)"};
  for (const auto& [host, port] : addresses_of(options)) {
    if (!host.starts_with('/') || !uses_tls(options.tls.mode)) continue;
    throw InvalidArgumentError{fmt::format(
        "PostgreSQL host \"{}\" is a Unix socket, which does not support TLS; set tls.mode to off",
        host)};
  }
  detail::check_certificate(options.tls);
  const bool files = !options.tls.ca_file.empty() || !options.tls.certificate_file.empty();
  if (!uses_tls(options.tls.mode) && files) {
    throw InvalidArgumentError{
        "PostgreSQL TLS files are set but tls.mode is off; set tls.mode to verify, or remove the "
        "files"};
  }
  return options;
}

}  // namespace

PostgreSqlDatabase::PostgreSqlDatabase(const PostgreSqlOptions& options,
                                       std::shared_ptr<Logger> log)
    : settings_{std::make_shared<ConnectSettings>(checked(options))},
      table_{std::make_shared<ChosenTable>(options.sql.schema, log)},
      log_{std::move(log)},
      listen_{options.listen},
      connect_timeout_{options.sql.connect_timeout} {}

std::unique_ptr<sql::Session> PostgreSqlDatabase::connect(LocalTime deadline,
                                                          const sql::Wakeup& closing) {
  return std::make_unique<PostgreSqlSession>(settings_, table_, deadline, closing);
}

std::unique_ptr<sql::ChangeFeed> PostgreSqlDatabase::make_feed() {
  if (listen_ == Listen::no) return std::make_unique<sql::SilentFeed>();
  return std::make_unique<ListeningFeed>(settings_, connect_timeout_, log_);
}

}  // namespace simba::postgresql
