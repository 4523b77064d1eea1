#include "mysql/admin/examination.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/tested_versions.hpp"
#include "core/text.hpp"
#include "mysql/answer.hpp"
#include "mysql/errors.hpp"
#include "mysql/server.hpp"
#include "mysql/statements.hpp"
#include "simba/core/error.hpp"
#include "sql/admin/sql_admin.hpp"

namespace simba::mysql {
namespace {

using engine::Finding;
using sql::note;
using sql::problem;
using sql::warning;

constexpr std::string_view facts =
    "SELECT VERSION(),"
    "TIMESTAMPDIFF(MICROSECOND,'1970-01-01 00:00:00',UTC_TIMESTAMP(3)) DIV 1000,"
    "CONNECTION_ID()";

constexpr std::string_view settings_query =
    "SELECT @@innodb_flush_log_at_trx_commit,@@log_bin,@@sync_binlog,@@read_only,"
    "@@performance_schema";

constexpr std::string_view columns =
    "SELECT column_name,column_type,data_type,character_maximum_length,character_set_name,"
    "collation_name FROM information_schema.columns "
    "WHERE table_schema=DATABASE() AND table_name='simba_mutex'";

constexpr std::string_view engine_of_table =
    "SELECT engine FROM information_schema.tables "
    "WHERE table_schema=DATABASE() AND table_name='simba_mutex'";

/// Sessions that hold row locks and do nothing, for longer than any statement of ours takes. {}:
/// the schema with the list of processes.
constexpr std::string_view idle_with_locks =
    "SELECT p.id,p.user,p.host,TIMESTAMPDIFF(SECOND,t.trx_started,NOW()) "
    "FROM information_schema.innodb_trx t "
    "JOIN {}.processlist p ON p.id=t.trx_mysql_thread_id "
    "WHERE t.trx_rows_locked>0 AND p.command='Sleep' AND p.db=DATABASE() "
    "AND t.trx_started<NOW()-INTERVAL 2 SECOND ORDER BY t.trx_started LIMIT 5";

/// Each fails where the right is missing, and changes nothing.
constexpr std::array<std::string_view, 4> tries{
    "SELECT mutex,owner_id,acquired_at,ttl_at,transition_at,version FROM simba_mutex LIMIT 0",
    "INSERT INTO simba_mutex (mutex,acquired_at,ttl_at,transition_at,owner_id,version) "
    "SELECT mutex,0,0,0,'',0 FROM simba_mutex WHERE 1=0",
    "UPDATE simba_mutex SET version=version,owner_id=owner_id,acquired_at=acquired_at,"
    "ttl_at=ttl_at,transition_at=transition_at WHERE 1=0",
    "SELECT mutex FROM simba_mutex FORCE INDEX (PRIMARY) LIMIT 0"};

/// For messages, or to compare: "" where it is missing or NULL.
std::string text(const std::vector<StatementResult::Value>& values, std::size_t column) {
  return column < values.size() ? detail::excerpt(values[column].value_or("")) : "";
}

std::optional<std::uint64_t> bits_of(std::string_view data_type, std::string_view column_type) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> sizes{
      {{"tinyint", 8}, {"smallint", 16}, {"mediumint", 24}, {"int", 32}, {"bigint", 64}}};
  for (const auto& [name, bits] : sizes) {
    if (data_type == name) {
      return bits - (column_type.find("unsigned") == std::string_view::npos ? 1 : 0);
    }
  }
  return std::nullopt;
}

/// Of a server that says "8.0.11-TiDB-v7.5.0", or the like, as its version.
std::string product_of(std::string_view version, bool mariadb) {
  for (const std::string_view other : {"TiDB", "Vitess"}) {
    if (version.find(other) != std::string_view::npos) return std::string{other};
  }
  return mariadb ? "MariaDB" : "MySQL";
}

}  // namespace

Examination::Examination(const Settings& settings, About about, Ask ask)
    : settings_{settings}, about_{about}, ask_{std::move(ask)} {}

std::vector<Examination::Values> Examination::rows_of(std::string_view text) const {
  const Reply reply = ask_(text);
  if (reply.refusal) throw to_error(settings_, *reply.refusal, Phase::asking);
  return answer::last(reply).rows;
}

engine::StoreReport Examination::run() const {
  engine::StoreReport report;
  check_server(report);
  const std::string_view processes = check_settings(report);
  if (!rows_of(statements::look_for_view()).empty()) {
    report.findings.push_back(problem(view_in_place_of_table(settings_)));
    return report;
  }
  const Reply table = ask_(statements::look_for_table());
  if (table.refusal && table.refusal->code == table_missing) {
    report.findings.push_back(
        problem(fmt::format("table simba_mutex is missing in database {}; run simba init",
                            settings_.options.database)));
    return report;
  }
  check_rights(report.findings);
  check_table(report.findings);
  check_versions(report.findings);
  check_sessions(processes, report.findings);
  return report;
}

void Examination::check_server(engine::StoreReport& report) const {
  const auto rows = rows_of(facts);
  if (rows.empty()) return;
  const std::string full = text(rows.front(), 0);
  const std::string product = product_of(full, about_.mariadb);
  report.server = fmt::format("{} {}", product, full.substr(0, full.find('-')));
  if (rows.front().size() > 1) {
    const StatementResult::Value& now = rows.front()[1];
    if (now) report.server_time = sql::server_time(detail::parse_number<std::int64_t>(*now));
  }
  const std::array<unsigned, 3> least =
      about_.mariadb ? std::array<unsigned, 3>{10, 3, 18} : std::array<unsigned, 3>{5, 7, 0};
  if (detail::parse_version(full) < least) {
    report.findings.push_back(problem(fmt::format("{} is too old; use {} or later", report.server,
                                                  about_.mariadb ? "MariaDB 10.3.18" : "MySQL 5.7"),
                                      ErrorKind::unsupported));
  } else if (auto remark = detail::untested_version(product, full); !remark.empty()) {
    report.findings.push_back(note(std::move(remark)));
  }
  if (auto remark = detail::untested_product(product); !remark.empty()) {
    report.findings.push_back(warning(std::move(remark)));
  }
  // A proxy gives out numbers of its own.
  if (answer::number(rows.front(), 2) != about_.connection) {
    report.findings.push_back(
        warning("connected through a proxy, which may send statements to different servers or "
                "share a session between clients: a mutex may then have two owners; connect to "
                "the primary directly"));
  }
}

std::string_view Examination::check_settings(engine::StoreReport& report) const {
  constexpr std::string_view old_list = "information_schema";
  auto& findings = report.findings;
  const auto rows = rows_of(settings_query);
  if (rows.empty()) return old_list;
  const Values& values = rows.front();
  if (text(values, 0) != "1") {
    findings.push_back(warning(fmt::format(
        "innodb_flush_log_at_trx_commit is {}: a crash may undo what was committed, so that a "
        "mutex has two owners; set it to 1",
        text(values, 0))));
  }
  if (text(values, 1) == "1" && text(values, 2) != "1") {
    findings.push_back(warning(fmt::format(
        "sync_binlog is {}: replicas may lack what was committed before a crash; set it "
        "to 1",
        text(values, 2))));
  }
  if (text(values, 3) != "0" && text(values, 3) != "OFF") {
    findings.push_back(
        problem("the server is read-only, possibly a replica; connect to the primary",
                ErrorKind::unavailable));
  }
  // MySQL 8.0.22 has both lists and will lose the older one. The newer is empty where it is off.
  constexpr std::array<unsigned, 3> with_new_list{8, 0, 22};
  constexpr std::string_view name = "MySQL ";
  const bool has_new_list =
      report.server.starts_with(name) && text(values, 4) == "1" &&
      detail::parse_version(report.server.substr(name.size())) >= with_new_list;
  return has_new_list ? "performance_schema" : old_list;
}

void Examination::check_rights(std::vector<Finding>& findings) const {
  for (const std::string_view statement : tries) {
    const Reply reply = ask_(statement);
    if (!reply.refusal) continue;
    const Error error = to_error(settings_, *reply.refusal, Phase::asking);
    // That the server is read-only has been said.
    if (error.kind() != ErrorKind::unavailable) findings.push_back(problem(error));
    if (error.kind() == ErrorKind::configuration) return;
  }
}

void Examination::check_table(std::vector<Finding>& findings) const {
  const auto rows = rows_of(columns);
  if (rows.empty()) return;  // who may see no column has no right, which has been said
  std::vector<sql::TableColumn> found;
  for (const Values& row : rows) {
    sql::TableColumn column{.name = text(row, 0), .type = text(row, 1)};
    column.most = bits_of(text(row, 2), column.type);
    if (!column.most) column.most = answer::number(row, 3);
    if (column.name == "mutex") check_names(row, findings);
    found.push_back(std::move(column));
  }
  constexpr std::uint64_t bits_of_int = 31;
  for (auto& finding : sql::check_columns(found, bits_of_int)) {
    findings.push_back(std::move(finding));
  }
  const auto engines = rows_of(engine_of_table);
  if (const auto engine = engines.empty() ? "" : text(engines.front(), 0);
      !engine.empty() && engine != "InnoDB") {
    findings.push_back(warning(
        fmt::format("table simba_mutex has engine {}, which may lose committed changes in a crash; "
                    "run: ALTER TABLE simba_mutex ENGINE = InnoDB",
                    engine)));
  }
}

/// What the column of names can tell apart.
void Examination::check_names(const Values& column, std::vector<Finding>& findings) const {
  const std::string charset = text(column, 4);
  const std::string collation = text(column, 5);
  const std::string better = about_.mariadb ? "utf8mb4_nopad_bin" : "utf8mb4_bin";
  const std::string remedy = fmt::format(
      "run: ALTER TABLE simba_mutex CONVERT TO CHARACTER SET utf8mb4 COLLATE {}", better);
  if (!charset.empty() && charset != "utf8mb4") {
    findings.push_back(
        warning(fmt::format("table simba_mutex has character set {}, which cannot hold every "
                            "character of a name; {}",
                            charset, remedy)));
  }
  if (!collation.empty() && !collation.ends_with("_bin")) {
    findings.push_back(
        warning(fmt::format("table simba_mutex has collation {}: of two names that it considers "
                            "equal, such as \"a\" and \"A\", the second is rejected; {}",
                            collation, remedy)));
  }
}

void Examination::check_versions(std::vector<Finding>& findings) const {
  const Reply reply = ask_(
      fmt::format("SELECT mutex,version FROM simba_mutex WHERE version>{} ORDER BY version DESC "
                  "LIMIT 1",
                  largest_jvm_version / 2));
  if (reply.refusal) return;  // no right, or no such column, which has been said
  const auto& rows = answer::last(reply).rows;
  const auto version = rows.empty() ? std::nullopt : answer::number(rows.front(), 1);
  if (!version) return;
  findings.push_back(warning(version_warning(rows.front()[0].value_or(""), *version)));
}

void Examination::check_sessions(std::string_view processes, std::vector<Finding>& findings) const {
  const Reply reply = ask_(fmt::format(idle_with_locks, processes));
  if (reply.refusal) {
    findings.push_back(note(
        "cannot look for sessions that hold row locks; grant PROCESS to this user to see them"));
    return;
  }
  for (const Values& row : answer::last(reply).rows) {
    findings.push_back(warning(fmt::format(
        "session {} of user {} at {} has held row locks in an open transaction for {} s; if they "
        "are "
        "on simba_mutex, nobody can acquire or renew these mutexes. To end it, run: KILL {}",
        text(row, 0), text(row, 1), text(row, 2), text(row, 3), text(row, 0))));
  }
}

}  // namespace simba::mysql
