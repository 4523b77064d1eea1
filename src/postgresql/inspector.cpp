#include "postgresql/inspector.hpp"

#include <cstdint>
#include <libpq-fe.h>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "postgresql/statements.hpp"
#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

using engine::Finding;
using sql::problem;
using sql::warning;

/// What the statements of the store need.
constexpr int least_version = 120000;

constexpr const char* server_facts = R"(
SELECT pg_catalog.current_setting('server_version'),
       pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp())
         OPERATOR(pg_catalog.*) 1000)::bigint,
       pg_catalog.pg_is_in_recovery()
         OR pg_catalog.current_setting('transaction_read_only')::boolean,
       pg_catalog.current_setting('fsync'), pg_catalog.pg_backend_pid(),
       coalesce(pg_catalog.has_schema_privilege(pg_catalog.current_schema(), 'CREATE'), false))";

constexpr const char* rights = R"(
SELECT pg_catalog.has_table_privilege(t, 'SELECT'), pg_catalog.has_table_privilege(t, 'INSERT'),
       pg_catalog.has_table_privilege(t, 'UPDATE')
FROM pg_catalog.to_regclass('simba_mutex') AS t)";

/// Name, type, length in characters, size in bytes, whether equal texts are equal bytes.
constexpr const char* columns = R"(
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
       CASE WHEN a.atttypid OPERATOR(pg_catalog.=) ANY
                   (ARRAY['varchar', 'bpchar']::pg_catalog.regtype[])
                 AND a.atttypmod OPERATOR(pg_catalog.>) 4
            THEN a.atttypmod OPERATOR(pg_catalog.-) 4 END,
       CASE WHEN a.atttypid OPERATOR(pg_catalog.=) ANY
                   (ARRAY['int2', 'int4', 'int8']::pg_catalog.regtype[])
            THEN a.attlen END,
       coalesce(c.collisdeterministic, true)
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_collation c ON c.oid OPERATOR(pg_catalog.=) a.attcollation
WHERE a.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('simba_mutex')
  AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped)";

constexpr const char* unique_name = R"(
SELECT 1
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) i.indrelid
                              AND a.attnum OPERATOR(pg_catalog.=) i.indkey[0]
WHERE i.indrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('simba_mutex')
  AND i.indisunique AND i.indisvalid AND i.indnkeyatts OPERATOR(pg_catalog.=) 1
  AND i.indpred IS NULL AND a.attname OPERATOR(pg_catalog.=) 'mutex')";

sql::TableColumn column_of(const std::vector<std::string>& row) {
  sql::TableColumn column{.name = row.at(0), .type = row.at(1)};
  if (const auto length = detail::parse_number<std::int64_t>(row.at(2)))
    column.most = static_cast<std::uint64_t>(*length);
  if (const auto bytes = detail::parse_number<std::int64_t>(row.at(3)))
    column.most = static_cast<std::uint64_t>(*bytes * 8 - 1);
  return column;
}

}  // namespace

PostgreSqlInspector::PostgreSqlInspector(const PostgreSqlOptions& options,
                                         std::chrono::milliseconds connect_timeout,
                                         std::chrono::milliseconds statement_timeout)
    : settings_{std::make_shared<ConnectSettings>(options)},
      listen_{options.listen},
      connect_timeout_{connect_timeout},
      statement_timeout_{statement_timeout} {}

void PostgreSqlInspector::connect() {
  if (connection_ && connection_->usable()) return;
  connection_.reset();
  auto fresh = std::make_unique<Connection>(settings_);
  fresh->open(sql::real_now() + connect_timeout_, never_raised_);
  connection_ = std::move(fresh);
}

PostgreSqlInspector::Table PostgreSqlInspector::ask(const char* statement) {
  connect();
  const Result result =
      connection_->run(statement, {}, sql::real_now() + statement_timeout_, never_raised_);
  Table table(static_cast<std::size_t>(PQntuples(result.get())));
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    auto& values = table[static_cast<std::size_t>(row)];
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      values.emplace_back(PQgetvalue(result.get(), row, column),
                          static_cast<std::size_t>(PQgetlength(result.get(), row, column)));
    }
  }
  return table;
}

bool PostgreSqlInspector::has_table() {
  const Table found = ask(statements::find_table);
  if (found.empty()) return false;
  if (found.at(0).at(1) != "t" && found.at(0).at(2) != "f") {
    throw table_of_stranger(settings_->name(), found.at(0).at(0), connection_->handle());
  }
  return true;
}

std::vector<std::string> PostgreSqlInspector::names() {
  std::vector<std::string> names;
  for (auto& row : ask("SELECT mutex FROM simba_mutex")) names.push_back(std::move(row.at(0)));
  return names;
}

engine::StoreReport PostgreSqlInspector::examine() {
  engine::StoreReport report;
  check_server(report);
  if (sql::has_problem(report.findings)) return report;
  check_table(report.findings);
  return report;
}

void PostgreSqlInspector::check_server(engine::StoreReport& report) {
  connect();
  auto& findings = report.findings;
  if (const int version = PQserverVersion(connection_->handle()); version < least_version) {
    report.server = fmt::format("PostgreSQL {}", version / 10'000);
    findings.push_back(
        problem("this PostgreSQL is too old; use 12 or later", ErrorKind::unsupported));
    return;
  }
  const auto facts = ask(server_facts).at(0);
  report.server = "PostgreSQL " + facts.at(0).substr(0, facts.at(0).find(' '));
  if (const auto now = detail::parse_number<std::int64_t>(facts.at(1))) {
    report.server_time = StoreTime{std::chrono::milliseconds{*now}};
  }
  if (facts.at(2) == "t") {
    findings.push_back(problem("the server is a replica or read-only; connect to the primary",
                               ErrorKind::unavailable));
  }
  if (facts.at(3) == "off") {
    findings.push_back(
        warning("fsync is off: a crash of the machine may damage the table, so that mutexes have "
                "two owners; set fsync = on in postgresql.conf"));
  }
  // A pooler gives out numbers of its own.
  const bool pooled =
      detail::parse_number<std::int64_t>(facts.at(4)) != PQbackendPID(connection_->handle());
  if (pooled && listen_ == Listen::yes) {
    findings.push_back(
        warning("connected through a pooler; unless it gives each client its own session "
                "(pool_mode = session), waiters are not notified of releases: set listen to no, or "
                "connect to the server directly"));
  }
  const Table found = ask(statements::find_table);
  if (!found.empty() && found.at(0).at(1) != "t") {
    const std::string& owner = found.at(0).at(0);
    findings.push_back(
        found.at(0).at(2) != "f"
            ? problem(table_of_stranger(settings_->name(), owner, connection_->handle()))
            : warning(fmt::format(
                  "table simba_mutex belongs to role \"{}\", who could put a trigger on it that "
                  "runs with the privileges of user \"{}\"; unless you trust that role, run as a "
                  "superuser: ALTER TABLE simba_mutex OWNER TO \"{}\"",
                  owner, PQuser(connection_->handle()), PQuser(connection_->handle()))));
  }
  if (found.empty()) {
    findings.push_back(problem(fmt::format(
        "table simba_mutex is missing in database \"{}\"; run simba init{}",
        PQdb(connection_->handle()),
        facts.at(5) == "t" ? "" : " as a user with the CREATE privilege, which this user lacks")));
  }
}

void PostgreSqlInspector::check_table(std::vector<Finding>& findings) {
  check_rights(findings);
  std::vector<sql::TableColumn> found;
  for (const auto& row : ask(columns)) {
    found.push_back(column_of(row));
    if (row.at(4) != "t" && (row.at(0) == "mutex" || row.at(0) == "owner_id")) {
      findings.push_back(problem(
          fmt::format("the collation of column {} considers different names equal; run: ALTER "
                      "TABLE simba_mutex ALTER COLUMN {} TYPE {} COLLATE \"C\"",
                      row.at(0), row.at(0), row.at(1))));
    }
  }
  constexpr std::uint64_t bits_of_bigint = 63;
  for (auto& finding : sql::check_columns(found, bits_of_bigint)) {
    findings.push_back(std::move(finding));
  }
  if (ask(unique_name).empty()) {
    findings.push_back(
        problem("table simba_mutex has no primary key on column mutex, so a mutex may have several "
                "rows; run: ALTER TABLE simba_mutex ADD PRIMARY KEY (mutex)"));
  }
}

void PostgreSqlInspector::check_rights(std::vector<Finding>& findings) {
  const auto has = ask(rights).at(0);
  for (const auto& [column, right] :
       {std::pair{0U, "SELECT"}, std::pair{1U, "INSERT"}, std::pair{2U, "UPDATE"}}) {
    if (has.at(column) != "t") {
      findings.push_back(problem(
          fmt::format(
              "user \"{0}\" lacks the {1} privilege on table simba_mutex; run as its owner: "
              "GRANT {1} ON simba_mutex TO \"{0}\"",
              PQuser(connection_->handle()), right),
          ErrorKind::permission));
    }
  }
}

}  // namespace simba::postgresql
