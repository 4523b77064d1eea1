#include "postgresql/database.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "postgresql/change_feed.hpp"
#include "postgresql/session.hpp"
#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

void check_text(std::string_view what, const std::string& value) {
  if (value.find('\0') != std::string::npos) {
    throw InvalidArgumentError{fmt::format("PostgreSQL {} must not contain a NUL character", what)};
  }
}

/// Answers with the options themselves.
const PostgreSqlOptions& checked(const PostgreSqlOptions& options) {
  check_text("host", options.host);
  check_text("user", options.user);
  check_text("password", options.password.reveal());
  check_text("database", options.database);
  check_text("ca_file", options.tls.ca_file);
  check_text("certificate_file", options.tls.certificate_file);
  check_text("key_file", options.tls.key_file);
  if (options.host.empty()) {
    throw InvalidArgumentError{
        "PostgreSQL host must not be empty; set it to a host or to the directory of a Unix socket"};
  }
  if (options.host.find(',') != std::string::npos) {
    throw InvalidArgumentError{
        fmt::format("PostgreSQL host must be a single host (got \"{}\")", options.host)};
  }
  if (options.port == 0)
    throw InvalidArgumentError{"PostgreSQL port must be between 1 and 65535 (got 0)"};
  if (options.host.front() == '/' && options.tls.mode != TlsMode::off) {
    throw InvalidArgumentError{fmt::format(
        "PostgreSQL host \"{}\" is a Unix socket, which does not support TLS; set tls.mode to off",
        options.host)};
  }
  if (options.tls.certificate_file.empty() != options.tls.key_file.empty()) {
    throw InvalidArgumentError{
        "PostgreSQL tls.certificate_file and tls.key_file must be set together"};
  }
  const bool files = !options.tls.ca_file.empty() || !options.tls.certificate_file.empty();
  if (options.tls.mode == TlsMode::off && files) {
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
      table_{std::make_shared<TableState>(options.sql.schema)},
      log_{std::move(log)},
      listen_{options.listen},
      connect_timeout_{options.sql.connect_timeout} {}

std::unique_ptr<sql::Session> PostgreSqlDatabase::connect(LocalTime deadline,
                                                          const sql::Wakeup& closing) {
  return std::make_unique<PostgreSqlSession>(settings_, table_, deadline, closing);
}

std::unique_ptr<sql::ChangeFeed> PostgreSqlDatabase::make_feed() {
  if (listen_ == Listen::no) return std::make_unique<SilentFeed>();
  return std::make_unique<ListeningFeed>(settings_, connect_timeout_, log_);
}

}  // namespace simba::postgresql
