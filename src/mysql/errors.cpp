#include "mysql/errors.hpp"

#include <string_view>

#include <fmt/format.h>

#include "core/text.hpp"

namespace simba::mysql {
namespace {

bool is_client_code(unsigned code) noexcept {
  return (code >= 2000 && code < 3000) || (code >= 5000 && code < 6000);
}

bool has(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

/// The server's own words, made harmless for a log line.
std::string shown(const Refusal& refusal) {
  constexpr std::size_t longest = 300;
  return fmt::format("{} (error {})", detail::excerpt(refusal.message, longest), refusal.code);
}

std::string_view user_of(const Settings& settings) noexcept {
  const std::string& user = settings.options.user;
  return user.empty() ? std::string_view{"(of the credentials callback)"} : user;
}

bool is_tls_setting(std::string_view message) noexcept {
  for (const std::string_view word :
       {"certificate", "Certificate", "issuer", "self-signed", "self signed", "not support",
        "hostname", "host name", "No such file", "PEM", "key", "unknown ca"}) {
    if (has(message, word)) return true;
  }
  return false;
}

Error client_error(const Settings& settings, const Refusal& refusal, Phase phase) {
  if (refusal.code == answer_too_large) {
    return Error{
        phase == Phase::connecting ? ErrorKind::internal : ErrorKind::in_doubt,
        fmt::format("MySQL at {} sent more data than a mutex table can hold; is it a MySQL "
                    "server?",
                    settings.place)};
  }
  if (phase != Phase::connecting) {
    return Error{ErrorKind::in_doubt,
                 fmt::format("connection to MySQL at {} lost: {}", settings.place, shown(refusal))};
  }
  switch (refusal.code) {
    case tls_failed:
      if (!is_tls_setting(refusal.message)) break;
      return Error{
          ErrorKind::configuration,
          fmt::format(
              "TLS handshake with MySQL at {} failed: {}; check tls.ca_file, the name in the "
              "server's certificate, and that the server supports TLS",
              settings.place, shown(refusal))};
    case tls_not_offered:
      return Error{
          ErrorKind::configuration,
          fmt::format("MySQL at {} does not support TLS, which tls.mode requires; nothing was sent "
                      "to it",
                      settings.place)};
    case 2054:  // ways to authenticate that we do not allow, or do not have
    case 2058:
    case 2059:
    case 2060:
    case 2061:
    case 5010:
      return Error{
          ErrorKind::authentication,
          fmt::format(
              "MySQL at {} requires an authentication method of user {} that {}", settings.place,
              user_of(settings),
              settings.trusts_server()
                  ? "this client does not support; use an account with "
                    "mysql_native_password, client_ed25519 or caching_sha2_password"
                  : "may reveal the password to a server that is not verified; set tls.mode "
                    "to verify, or use an account with mysql_native_password or "
                    "client_ed25519")};
    default:
      break;
  }
  return Error{ErrorKind::unavailable,
               fmt::format("cannot connect to MySQL at {}: {}", settings.place, shown(refusal))};
}

struct Meaning {
  ErrorKind kind;
  std::string advice;
};

std::string grant(const Settings& settings) {
  return fmt::format(
      "run: GRANT SELECT, INSERT, UPDATE ON {}.simba_mutex TO the account of user {}",
      settings.options.database, user_of(settings));
}

Meaning meaning_of(const Settings& settings, const Refusal& refusal) {
  const std::string& database = settings.options.database;
  switch (refusal.code) {
    case 1045:  // wrong password, or TLS required
    case 1251:
    case 1698:
    case 1820:
    case 1862:
    case 3118:
    case 4151:
      return {ErrorKind::authentication,
              "check user and password, that the account may connect from this host, and whether "
              "the server requires TLS"};
    case 3159:
      return {ErrorKind::authentication, "the server requires TLS; set tls.mode"};
    case 1130:  // host not allowed
      return {ErrorKind::authentication, "create an account that may connect from this host"};
    case 1044:  // database
    case 1142:  // table
    case 1143:  // column
    case 1227:
    case 1370:
      return {ErrorKind::permission, grant(settings)};
    case 1049:
      return {ErrorKind::configuration, fmt::format("run: CREATE DATABASE {}", database)};
    case table_missing:
      return {
          ErrorKind::configuration,
          fmt::format("create table simba_mutex in database {} with {}/mysql.sql or mariadb.sql",
                      database, SIMBA_SCHEMA_FOLDER)};
    case 1054:
      return {ErrorKind::configuration,
              fmt::format("table simba_mutex of database {} differs from that in {}/mysql.sql",
                          database, SIMBA_SCHEMA_FOLDER)};
    case 1176:
      return {ErrorKind::configuration,
              "the table has no primary key; run: ALTER TABLE simba_mutex ADD PRIMARY KEY (mutex)"};
    case 1264:
    case 1690:
      return {ErrorKind::configuration,
              "the version no longer fits its column; run: ALTER TABLE simba_mutex MODIFY "
              "version bigint unsigned NOT NULL DEFAULT 0"};
    case 1267:
    case 1270:
    case 1271:
    case 1366:
    case 3854:
      return {ErrorKind::configuration,
              "the table cannot hold every character; run: ALTER TABLE simba_mutex CONVERT TO "
              "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"};
    case 1406:
      return {
          ErrorKind::configuration,
          "a column is too short; run: ALTER TABLE simba_mutex MODIFY mutex varchar(66) NOT NULL, "
          "MODIFY owner_id varchar(128) NOT NULL DEFAULT ''"};
    case 1153:
      return {ErrorKind::configuration, "raise max_allowed_packet of the server"};
    case 1290:
      if (!has(refusal.message, "read-only") && !has(refusal.message, "read_only")) {
        return {ErrorKind::configuration, {}};
      }
      [[fallthrough]];
    case 1036:
    case 1792:
    case 1836:
      return {ErrorKind::unavailable,
              "the server is read-only, possibly a replica; connect to the primary"};
    case 1040:
    case 1203:
    case 1226:
      return {ErrorKind::unavailable,
              "the server has no connections left; raise its limit, or lower pool_size"};
    case statement_binlog:
      return {ErrorKind::unavailable, "retrying with isolation level REPEATABLE READ"};
    case 1064:
      return {ErrorKind::internal, "the server does not support a statement of Simba"};
    case 1205:
    case 1969:
      return {ErrorKind::unavailable, "another session holds a lock on a row of simba_mutex"};
    default:
      return {ErrorKind::unavailable, {}};
  }
}

/// True where a server says so before it commits, or after it has rolled back: all that is told
/// with an advice, and some more. Whatever else there is may come out of a commit: 1180 (it
/// failed), 1053 and 1927 (shut down, killed), 1598 (no binary log), 3100 (a replication hook), and
/// what proxies say.
bool is_surely_not_carried_out(unsigned code, ErrorKind kind, const std::string& advice) noexcept {
  if (kind != ErrorKind::unavailable || !advice.empty()) return true;
  switch (code) {
    case 1047:  // a Galera node outside its cluster
    case 1206:  // no room for locks
    case 1213:  // deadlock
    case 1317:  // killed, looked for before the commit
    case 3024:  // the same, after a time
    case 3101:  // not certified by the group
    case 4031:  // idle for too long
      return true;
    default:
      return false;
  }
}

Error told(const Settings& settings, ErrorKind kind, const Refusal& refusal,
           const std::string& advice) {
  return Error{kind, fmt::format("MySQL at {}: {}{}{}", settings.place, shown(refusal),
                                 advice.empty() ? "" : "; ", advice)};
}

}  // namespace

bool breaks_connection(const Refusal& refusal) noexcept {
  switch (refusal.code) {
    case 1053:  // shutting down
    case 1047:  // a Galera node outside its cluster
    case 1927:  // killed
    case 4031:  // idle for too long
    case 3169:
    case 1158:  // network
    case 1159:
    case 1160:
    case 1161:
      return true;
    default:
      return is_client_code(refusal.code);
  }
}

bool calls_for_another(const Refusal& refusal) noexcept {
  switch (refusal.code) {
    case table_missing:     // the next session makes it
    case statement_binlog:  // the next session takes another isolation level
    case 1036:              // the next session may find the primary
    case 1290:
    case 1792:
    case 1836:
      return true;
    default:
      return false;
  }
}

Error to_error(const Settings& settings, const Refusal& refusal, Phase phase) {
  if (is_client_code(refusal.code)) return client_error(settings, refusal, phase);
  const auto [kind, advice] = meaning_of(settings, refusal);
  const bool in_doubt =
      phase == Phase::changed ||
      (phase == Phase::changing && !is_surely_not_carried_out(refusal.code, kind, advice));
  return told(settings, in_doubt ? ErrorKind::in_doubt : kind, refusal, advice);
}

Error creation_error(const Settings& settings, const Refusal& refusal, const std::string& file) {
  if (is_client_code(refusal.code)) return client_error(settings, refusal, Phase::asking);
  auto [kind, advice] = meaning_of(settings, refusal);
  if (kind == ErrorKind::permission) {
    advice = fmt::format(
        "table simba_mutex is missing in database {} and this user may not create it; run {} as "
        "a user with that privilege",
        settings.options.database, file);
  }
  return told(settings, kind, refusal, advice);
}

bool lacks_record_table(const Refusal& refusal) noexcept {
  return refusal.code == table_missing && has(refusal.message, "simba_record");
}

bool concerns_record_table(const Refusal& refusal) noexcept {
  switch (refusal.code) {
    case 1142:  // right to the table
    case 1143:  // column
    case table_missing:
      return has(refusal.message, "simba_record");
    case 1054:  // no such column: those of the table of mutexes were there when we connected
      return true;
    case 1406:  // too long for its column
      return has(refusal.message, "content");
    default:
      return false;
  }
}

Error record_table_error(const Settings& settings, const Refusal& refusal) {
  if (is_client_code(refusal.code)) return client_error(settings, refusal, Phase::asking);
  const std::string& database = settings.options.database;
  const std::string make = fmt::format(
      "run simba init, or {}/mysql.sql or mariadb.sql, as a user with the right to "
      "create it",
      SIMBA_SCHEMA_FOLDER);
  switch (refusal.code) {
    case table_missing:
      return told(settings, ErrorKind::configuration, refusal,
                  fmt::format("records of schedules need table simba_record in database {}; {}",
                              database, make));
    case 1044:
    case 1142:
    case 1143:
      return told(
          settings, ErrorKind::permission, refusal,
          fmt::format("records of schedules need table simba_record; if it is missing, {}; then "
                      "run: GRANT SELECT, INSERT, UPDATE ON {}.simba_record TO the account of user "
                      "{}",
                      make, database, user_of(settings)));
    default:
      return told(settings, ErrorKind::configuration, refusal,
                  fmt::format("table simba_record of database {} differs from that in {}/mysql.sql",
                              database, SIMBA_SCHEMA_FOLDER));
  }
}

Error view_in_place_of_table(const Settings& settings) {
  return Error{
      ErrorKind::permission,
      fmt::format(
          "MySQL at {}: simba_mutex in database {} is a view, which could run another "
          "user's functions with the privileges of this user; drop the view, then run simba init",
          settings.place, settings.options.database)};
}

}  // namespace simba::mysql
