#include "postgresql/admin/examination.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/tested_versions.hpp"
#include "core/text.hpp"
#include "postgresql/errors.hpp"
#include "postgresql/statements.hpp"
#include "simba/core/error.hpp"
#include "sql/admin/sql_admin.hpp"

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

/// What a text or a number may have: characters, or bits.
std::optional<std::uint64_t> capacity_in(const TableText& table, std::size_t row) {
  const auto length = detail::parse_number<std::uint32_t>(value_in(table, row, 2));
  const auto bytes = detail::parse_number<std::uint8_t>(value_in(table, row, 3));
  if (bytes && *bytes > 0) return *bytes * std::uint64_t{8} - 1U;
  if (length) return *length;
  return std::nullopt;
}

}  // namespace

const std::string& value_in(const TableText& table, std::size_t row, std::size_t column) {
  if (row < table.size() && column < table[row].size()) return table[row][column];
  throw Error{ErrorKind::internal,
              fmt::format("invalid reply from PostgreSQL: column {} of row {} is missing",
                          column + 1, row + 1)};
}

Examination::Examination(About about, Ask ask) : about_{std::move(about)}, ask_{std::move(ask)} {}

engine::StoreReport Examination::run() const {
  engine::StoreReport report;
  check_server(report);
  if (!sql::has_problem(report.findings)) check_table(report.findings);
  return report;
}

void Examination::check_server(engine::StoreReport& report) const {
  auto& findings = report.findings;
  if (about_.version < least_version) {
    report.server = fmt::format("PostgreSQL {}", about_.version / 10'000);
    findings.push_back(
        problem("this PostgreSQL is too old; use 12 or later", ErrorKind::unsupported));
    return;
  }
  const TableText facts = ask_(server_facts);
  const std::string& full = value_in(facts, 0, 0);
  const std::string version = detail::excerpt(full.substr(0, full.find(' ')));
  const std::string product = about_.cockroach                            ? "CockroachDB"
                              : version.find("-YB-") != std::string::npos ? "YugabyteDB"
                                                                          : "PostgreSQL";
  report.server = product + " " + version;
  if (auto remark = detail::untested_version(product, version); !remark.empty()) {
    findings.push_back(sql::note(std::move(remark)));
  }
  if (auto remark = detail::untested_product(product); !remark.empty()) {
    findings.push_back(warning(std::move(remark)));
  }
  report.server_time = sql::server_time(detail::parse_number<std::int64_t>(value_in(facts, 0, 1)));
  if (value_in(facts, 0, 2) == "t") {
    findings.push_back(problem("the server is a replica or read-only; connect to the primary",
                               ErrorKind::unavailable));
  }
  if (value_in(facts, 0, 3) == "off") {
    findings.push_back(
        warning("fsync is off: a crash of the machine may damage the table, so that mutexes have "
                "two owners; set fsync = on in postgresql.conf"));
  }
  // A pooler gives out numbers of its own.
  const bool pooled =
      detail::parse_number<std::int64_t>(value_in(facts, 0, 4)) != std::int64_t{about_.session};
  if (pooled && about_.listen == Listen::yes) {
    findings.push_back(
        warning("connected through a pooler; unless it gives each client its own session "
                "(pool_mode = session), waiters are not notified of releases: set listen to no, or "
                "connect to the server directly"));
  }
  const TableText found = ask_(statements::find_tables().c_str());
  if (!found.empty()) {
    check_owner(findings, found);
    if (found.size() > 1 && !sql::has_problem(findings)) {
      findings.push_back(warning(two_tables_remark(statements::table_in(value_in(found, 0, 3)),
                                                   statements::table_in(value_in(found, 1, 3)))));
    }
    return;
  }
  findings.push_back(problem(fmt::format(
      "table simba_mutex is missing in database \"{}\"; run simba init{}", about_.database,
      value_in(facts, 0, 5) == "t"
          ? ""
          : " as a user with the CREATE privilege, which this user lacks")));
}

void Examination::check_owner(std::vector<Finding>& findings, const TableText& found) const {
  if (value_in(found, 0, 1) == "t") return;
  const std::string table = detail::excerpt(statements::table_in(value_in(found, 0, 3)));
  const std::string owner = detail::excerpt(value_in(found, 0, 0));
  if (value_in(found, 0, 2) != "f") {
    findings.push_back(problem(table_of_stranger(about_.name, table, owner, about_.user)));
  } else if (value_in(found, 0, 4) != "f") {
    findings.push_back(problem(table_hides_another(about_.name, table, owner)));
  } else {
    findings.push_back(warning(fmt::format(
        "table {0} belongs to role \"{1}\", who could put a trigger on it that runs with the "
        "privileges of user \"{2}\"; unless you trust that role, run as a superuser: ALTER TABLE "
        "{0} OWNER TO \"{2}\"",
        table, owner, about_.user)));
  }
}

void Examination::check_table(std::vector<Finding>& findings) const {
  check_rights(findings);
  const TableText all = ask_(columns);
  std::vector<sql::TableColumn> found;
  for (std::size_t row = 0; row < all.size(); ++row) {
    const std::string& name = value_in(all, row, 0);
    const std::string& type = value_in(all, row, 1);
    found.push_back({.name = name, .type = type, .most = capacity_in(all, row)});
    if (value_in(all, row, 4) != "t" && (name == "mutex" || name == "owner_id")) {
      findings.push_back(problem(
          fmt::format("the collation of column {} considers different names equal; run: ALTER "
                      "TABLE simba_mutex ALTER COLUMN {} TYPE {} COLLATE \"C\"",
                      name, name, detail::excerpt(type))));
    }
  }
  constexpr std::uint64_t bits_of_bigint = 63;
  for (auto& finding : sql::check_columns(found, bits_of_bigint)) {
    findings.push_back(std::move(finding));
  }
  if (ask_(unique_name).empty()) {
    findings.push_back(
        problem("table simba_mutex has no primary key on column mutex, so a mutex may have several "
                "rows; run: ALTER TABLE simba_mutex ADD PRIMARY KEY (mutex)"));
  }
}

void Examination::check_rights(std::vector<Finding>& findings) const {
  const TableText has = ask_(rights);
  for (const auto& [column, right] :
       {std::pair{0U, "SELECT"}, std::pair{1U, "INSERT"}, std::pair{2U, "UPDATE"}}) {
    if (value_in(has, 0, column) != "t") {
      findings.push_back(problem(
          fmt::format(
              "user \"{0}\" lacks the {1} privilege on table simba_mutex; run as its owner: "
              "GRANT {1} ON simba_mutex TO \"{0}\"",
              about_.user, right),
          ErrorKind::permission));
    }
  }
}

}  // namespace simba::postgresql
