#include "postgresql/errors.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <libpq-fe.h>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"

namespace simba::postgresql {
namespace {

constexpr std::string_view schema_file = SIMBA_SCHEMA_FOLDER "/postgresql.sql";
constexpr std::string_view record_schema_file = SIMBA_SCHEMA_FOLDER "/postgresql_record.sql";
constexpr std::size_t longest_text = 300;

std::string_view text_or_empty(const char* text) noexcept {
  return text == nullptr ? std::string_view{} : std::string_view{text};
}

bool is_state(std::string_view text) noexcept {
  return text.size() == 5 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
         });
}

/// What to do about a refusal, beginning with "; ", or nothing where the server's text says it all.
std::string advice(std::string_view state, const PGconn* connection) {
  if (state == "42501") {
    return fmt::format(
        "; run as the owner of the table: GRANT SELECT, INSERT, UPDATE ON "
        "simba_mutex TO \"{}\"",
        text_or_empty(PQuser(connection)));
  }
  if (state == "22003") {
    return "; a number does not fit its column; run: ALTER TABLE simba_mutex "
           "ALTER COLUMN version TYPE bigint";
  }
  if (state == "22001") {
    return "; a name does not fit its column; run: ALTER TABLE simba_mutex ALTER COLUMN mutex TYPE "
           "varchar(66), ALTER COLUMN owner_id TYPE varchar(128)";
  }
  if (state == "3D000") return "; create the database or correct the option `database`";
  if (state == "42P01" || state == "42703") {
    return fmt::format("; the table must have the columns of {}", schema_file);
  }
  if (state == "53300") return "; raise max_connections of the server or lower `pool_size`";
  if (state == "25006") return "; the server is a replica or read-only; connect to the primary";
  if (state.starts_with("28")) return "; check `user`, `password` and the server's pg_hba.conf";
  return {};
}

bool speaks_of_certificates(std::string_view text) noexcept {
  constexpr std::array<std::string_view, 4> signs{"certificate", "does not support SSL",
                                                  "private key", "sslmode"};
  return std::any_of(signs.begin(), signs.end(), [&](std::string_view sign) {
    return text.find(sign) != std::string_view::npos;
  });
}

}  // namespace

std::string_view sql_state(const PGresult* result) noexcept {
  return text_or_empty(PQresultErrorField(result, PG_DIAG_SQLSTATE));
}

std::string_view sql_state_in(std::string_view message) noexcept {
  // "FATAL:  28P01: text". The severity may be in another language.
  for (std::size_t at = message.find(":  "); at != std::string_view::npos;
       at = message.find(":  ", at + 1)) {
    const std::string_view rest = message.substr(at + 3);
    if (rest.size() > 5 && rest[5] == ':' && is_state(rest.substr(0, 5))) return rest.substr(0, 5);
  }
  return {};
}

ErrorKind kind_of(std::string_view state) noexcept {
  if (state == "42501") return ErrorKind::permission;
  if (state == "25006") return ErrorKind::unavailable;
  constexpr std::array<std::pair<std::string_view, ErrorKind>, 13> classes{{
      {"08", ErrorKind::unavailable},     // connection exception
      {"0A", ErrorKind::unsupported},     // feature not supported
      {"22", ErrorKind::configuration},   // data that do not fit the columns of somebody's table
      {"23", ErrorKind::configuration},   // a constraint of somebody's table
      {"28", ErrorKind::authentication},  // invalid authorization
      {"3D", ErrorKind::configuration},   // no such database
      {"3F", ErrorKind::configuration},   // no such schema
      {"40", ErrorKind::unavailable},     // serialization failure, deadlock
      {"42", ErrorKind::configuration},   // no such table or column
      {"53", ErrorKind::unavailable},     // connections, disk or memory exhausted
      {"55", ErrorKind::unavailable},     // lock not available, object in use
      {"57", ErrorKind::unavailable},     // cancelled, shutting down, starting up
      {"58", ErrorKind::unavailable},     // the server's input and output
  }};
  for (const auto& [prefix, kind] : classes) {
    if (state.starts_with(prefix)) return kind;
  }
  return ErrorKind::internal;
}

std::string one_line(std::string_view text) {
  // With several addresses libpq writes a line for each; the last one is that of the last address.
  std::string_view best = text.substr(0, text.find('\n'));
  constexpr std::string_view mark = " failed: ";
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (const auto at = line.find(mark);
        line.starts_with("connection to server") && at != std::string_view::npos) {
      best = line.substr(at + mark.size());
    }
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  while (best.ends_with(' ') || best.ends_with('\r')) best.remove_suffix(1);
  return detail::excerpt(best, longest_text);
}

bool leaves_in_doubt(std::string_view state, Refused when) noexcept {
  // A pooler reports a server that was lost in the middle of a statement as a connection exception.
  if (state.starts_with("08") || state == "40003") return true;
  // A connection that is ended by the server (shut down, crashed, idle for too long) may be so
  // right after the commit. 57P03 is of a server that has not begun.
  if (state.starts_with("57P")) return state != "57P03";
  if (when == Refused::at_once) return false;
  return !state.starts_with("40") && !state.starts_with("23");  // rolled back, constraint violated
}

Refusal refusal(std::string_view database_name, const PGconn* connection, const PGresult* result,
                Refused when) {
  const std::string_view state = sql_state(result);
  std::string text = one_line(text_or_empty(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY)));
  if (text.empty()) text = one_line(text_or_empty(PQresultErrorMessage(result)));
  return {leaves_in_doubt(state, when) ? ErrorKind::in_doubt : kind_of(state),
          fmt::format("{}: {} (SQLSTATE {}){}", database_name, text,
                      is_state(state) ? state : "unknown", advice(state, connection)),
          std::string{state}};
}

Error connect_failure(std::string_view database_name, const PGconn* connection) {
  const std::string_view all = text_or_empty(PQerrorMessage(connection));
  const std::string_view state = sql_state_in(all);
  const std::string text = one_line(all);
  if (!state.empty()) {
    return Error{kind_of(state), fmt::format("cannot connect to {}: {}{}", database_name, text,
                                             advice(state, connection))};
  }
  if (PQconnectionNeedsPassword(connection) != 0) {
    return Error{
        ErrorKind::authentication,
        fmt::format("cannot connect to {}: the server requires a password; set `password`, "
                    "PGPASSWORD or ~/.pgpass",
                    database_name)};
  }
  if (speaks_of_certificates(text)) {
    return Error{
        ErrorKind::configuration,
        fmt::format("cannot connect to {}: {}; check the TLS options", database_name, text)};
  }
  return Error{ErrorKind::unavailable, fmt::format("cannot connect to {}{}{}", database_name,
                                                   text.empty() ? "" : ": ", text)};
}

Error connection_lost(std::string_view database_name, const PGconn* connection) {
  const std::string text = one_line(text_or_empty(PQerrorMessage(connection)));
  return Error{ErrorKind::in_doubt,
               fmt::format("connection to {} lost before the reply arrived{}{}", database_name,
                           text.empty() ? "" : ": ", text)};
}

Error table_missing(std::string_view database_name, const PGconn* connection) {
  return Error{
      ErrorKind::configuration,
      fmt::format(
          "{}: database \"{}\" has no table simba_mutex; run the statements in {} there, or "
          "set `schema` to create",
          database_name, text_or_empty(PQdb(connection)), schema_file)};
}

Error table_of_stranger(std::string_view database_name, std::string_view table,
                        std::string_view owner, std::string_view user) {
  return Error{
      ErrorKind::permission,
      fmt::format(
          "{0}: table {1} belongs to role \"{2}\" and has triggers, rules, constraints, "
          "statistics, expressions or partitions that could run code of that role with "
          "the privileges of user \"{3}\"; if you trust that role, run ALTER TABLE {1} OWNER "
          "TO <owner of the database> as a superuser; if not, drop the table and run the "
          "statements in {4} as a user that you trust",
          database_name, one_line(table), one_line(owner), user, schema_file)};
}

Error table_hides_another(std::string_view database_name, std::string_view table,
                          std::string_view owner) {
  return Error{
      ErrorKind::permission,
      fmt::format("{}: table {} of role \"{}\" hides the table simba_mutex of a role that is "
                  "trusted, later in the search path; drop the one that should not be used, or set "
                  "search_path to the schema of the other",
                  database_name, one_line(table), one_line(owner))};
}

std::string two_tables_remark(std::string_view used, std::string_view other) {
  return fmt::format(
      "the search path has tables {}, which is used here, and {}; a process keeps to the one that "
      "it found first, so processes started at different times may use different ones, and a mutex "
      "may have two owners; drop the one that should not be used, or set search_path to the schema "
      "of the other",
      one_line(used), one_line(other));
}

Error table_refused(const Error& error, std::string_view table) {
  return Error{
      ErrorKind::permission,
      fmt::format("table {} is missing and this user may not create it; run the "
                  "statements in {} as a user with that privilege ({})",
                  table, table == "simba_mutex" ? schema_file : record_schema_file, error.what())};
}

Error record_table_missing(std::string_view database_name, const PGconn* connection) {
  return Error{ErrorKind::configuration,
               fmt::format("{}: database \"{}\" has no table simba_record in the schema of "
                           "simba_mutex, which records of schedules need; run simba init, or the "
                           "statements in {} there",
                           database_name, text_or_empty(PQdb(connection)), record_schema_file)};
}

Error record_table_error(const Refusal& refusal, const PGconn* connection) {
  const std::string grant = fmt::format(
      "run as the owner of the tables: GRANT SELECT, INSERT, UPDATE ON simba_mutex, "
      "simba_record TO \"{}\"",
      text_or_empty(PQuser(connection)));
  return Error{refusal.kind(),
               fmt::format("records of schedules need table simba_record ({}); {}", refusal.what(),
                           refusal.sql_state() == "42501"
                               ? grant
                               : fmt::format("run simba init; the table must be as in {}",
                                             record_schema_file))};
}

}  // namespace simba::postgresql
