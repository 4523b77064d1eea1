#include "postgresql/session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <libpq-fe.h>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "postgresql/errors.hpp"
#include "postgresql/statements.hpp"
#include "postgresql/values.hpp"
#include "postgresql_schema.hpp"
#include "simba/core/error.hpp"
#include "sql/rows.hpp"

namespace simba::postgresql {
namespace {

using namespace std::chrono_literals;
using sql::Ask;
using sql::Change;
using sql::Row;
using sql::Waited;
using std::chrono::milliseconds;

/// How often an acquisition is retried where someone else changed the row at the same moment.
constexpr int most_tries = 3;

/// A lock is waited for half of the time that is left, so that the server gives up before we do and
/// no statement stays behind there. In ms; 0 would mean no limit.
std::string lock_timeout(LocalTime deadline) {
  const LocalTime now = sql::real_now();
  const auto left = deadline == never ? 1h : std::chrono::floor<milliseconds>(deadline - now);
  return fmt::to_string(std::clamp<milliseconds>(left / 2, 1ms, 1h).count());
}

/// The name under which a statement is prepared. Made of its text, so that on a server connection
/// that several clients share a name never stands for another statement.
std::string prepared_name(std::string_view statement) {
  return fmt::format("simba_{:016x}", detail::fnv1a(statement));
}

/// Whether a refusal with this SQLSTATE means, and came before anything was done, that the session
/// is not ours alone or that the table has been altered.
bool shows_misfit(std::string_view sql_state) noexcept {
  return sql_state == "26000" ||  // no prepared statement of this name
         sql_state == "42P05" ||  // there is one already
         sql_state == "0A000";    // its result would have other types than before
}

template <typename Range, typename Text>
std::string array_of(const Range& range, Text text) {
  ArrayLiteral array;
  for (const auto& element : range) array.add(text(element));
  return std::move(array).take();
}

std::string versions_of(std::span<const Ask> asks) {
  ArrayLiteral array;
  for (const Ask& ask : asks) {
    if (ask.version) {
      array.add(fmt::to_string(*ask.version));
    } else {
      array.add_null();
    }
  }
  return std::move(array).take();
}

std::vector<Ask> without(std::span<const Ask> asks, const std::vector<Row>& rows) {
  std::set<std::string_view> answered;
  for (const Row& row : rows) answered.insert(row.mutex);
  std::vector<Ask> rest;
  for (const Ask& ask : asks) {
    if (!answered.contains(ask.mutex)) rest.push_back(ask);
  }
  return rest;
}

}  // namespace

std::string ChosenTable::name() const {
  const std::lock_guard lock{mutex_};
  return name_;
}

bool ChosenTable::replace(const std::string& before, const std::string& name) {
  const std::lock_guard lock{mutex_};
  if (name_ != before) return false;
  name_ = name;
  return true;
}

void ChosenTable::warn(const std::string& text) {
  {
    const std::lock_guard lock{mutex_};
    if (warned_ == text) return;
    warned_ = text;
  }
  log_->log(LogLevel::warn, text);
}

PostgreSqlSession::Statements::Statements(const std::string& table)
    : acquire{statements::on_table(statements::acquire, table)},
      guard{statements::on_table(statements::guard, table)},
      release{statements::on_table(statements::release, table)},
      look{statements::on_table(statements::look, table)},
      init{statements::on_table(statements::init, table)} {}

PostgreSqlSession::PostgreSqlSession(std::shared_ptr<const ConnectSettings> settings,
                                     std::shared_ptr<ChosenTable> table, LocalTime deadline,
                                     const sql::Wakeup& closing)
    : table_{std::move(table)},
      closing_{closing},
      connection_{std::move(settings)},
      prepares_{!connection_.pooled()} {
  connection_.open(deadline, closing_);
  ask_to_notice_our_end(deadline);
  chosen_ = choose_table(deadline);
  statements_ = Statements{chosen_};
}

Result PostgreSqlSession::run(const char* statement, std::span<const Parameter> parameters,
                              LocalTime deadline) {
  return connection_.run(statement, parameters, deadline, closing_);
}

Result PostgreSqlSession::run_prepared(const std::string& statement,
                                       std::span<const Parameter> parameters, LocalTime deadline) {
  const std::string name = prepared_name(statement);
  if (!prepared_.contains(name)) {
    connection_.send_prepare(name.c_str(), statement.c_str());
    connection_.finish(deadline, closing_);
    prepared_.insert(name);
  }
  connection_.send_prepared(name.c_str(), parameters);
  return connection_.finish(deadline, closing_);
}

/// Carries out a statement on a table.
Result PostgreSqlSession::attempt(const std::string& statement,
                                  std::span<const Parameter> parameters, LocalTime deadline) {
  try {
    if (prepares_) {
      try {
        return run_prepared(statement, parameters, deadline);
      } catch (const Refusal& error) {
        if (!shows_misfit(error.sql_state()) || !connection_.usable()) throw;
        prepares_ = false;
      }
    }
    return run(statement.c_str(), parameters, deadline);
  } catch (const Refusal& error) {
    // Another connection may lead to a primary.
    if (error.sql_state() == "25006") connection_.close();
    throw;
  }
}

/// The same on the table of mutexes.
Result PostgreSqlSession::execute(const std::string& statement,
                                  std::span<const Parameter> parameters, LocalTime deadline) {
  try {
    return attempt(statement, parameters, deadline);
  } catch (const Refusal& error) {
    if (error.sql_state() != "42P01") throw;
    // Someone has dropped it. The next session finds out what to do.
    const Error missing = table_missing(connection_.database_name(), connection_.handle());
    connection_.close();
    if (!table_->may_be_made()) throw Error{missing};
    throw Error{ErrorKind::unavailable, fmt::format("{}; it will be created again", error.what())};
  }
}

/// A statement that we gave up is to end on the server too, whatever it waits for there (say,
/// someone who has locked the table). Otherwise each further try would leave one more connection
/// behind.
void PostgreSqlSession::ask_to_notice_our_end(LocalTime deadline) {
  constexpr int first_version = 140000;
  if (connection_.pooled() || PQserverVersion(connection_.handle()) < first_version) return;
  try {
    run(statements::notice_our_end, {}, deadline);
  } catch (const Refusal& error) {
    if (!connection_.usable()) throw;  // else a server on a system that cannot do it
  }
}

/// Each session looks: what is on the table, and whose it is, may have changed since.
std::string PostgreSqlSession::choose_table(LocalTime deadline) {
  for (;;) {
    const std::string chosen = table_->name();
    std::string found = find_table(chosen, deadline);
    if (found.empty() && table_->may_be_made()) {
      make_table(sql::schema::postgresql_sql, "simba_mutex", {}, deadline);
      // Again: someone else may have made it at the same moment.
      found = find_table(chosen, deadline);
    }
    if (found.empty()) throw table_missing(connection_.database_name(), connection_.handle());
    if (table_->replace(chosen, found)) return found;
  }
}

/// The qualified name of the table that is chosen, or if that is gone, of the first in the search
/// path; empty where there is none. Throws where it is there, but not to be touched.
std::string PostgreSqlSession::find_table(const std::string& chosen, LocalTime deadline) {
  const Result result = run(statements::find_tables().c_str(), {}, deadline);
  if (PQntuples(result.get()) == 0 || PQnfields(result.get()) != 5) return {};
  const auto value = [&](int row, int column) {
    return std::string_view{PQgetvalue(result.get(), row, column)};
  };
  int row = 0;
  while (row < PQntuples(result.get()) && statements::table_in(value(row, 3)) != chosen) ++row;
  const bool is_chosen = row < PQntuples(result.get());
  if (!is_chosen) row = 0;
  std::string name = statements::table_in(value(row, 3));
  if (value(row, 1) != "t") {
    const char* const user = PQuser(connection_.handle());
    if (value(row, 2) != "f") {
      throw table_of_stranger(connection_.database_name(), name, value(row, 0), user);
    }
    if (!is_chosen && value(row, 4) != "f") {
      throw table_hides_another(connection_.database_name(), name, value(row, 0));
    }
  }
  if (PQntuples(result.get()) > 1) {
    const std::string other = statements::table_in(value(row == 0 ? 1 : 0, 3));
    table_->warn(
        fmt::format("{}: {}", connection_.database_name(), two_tables_remark(name, other)));
  }
  return name;
}

/// `statement` makes a table `name`, here to be called `qualified` if that is not empty.
void PostgreSqlSession::make_table(std::string_view statement, std::string_view name,
                                   const std::string& qualified, LocalTime deadline) {
  std::string text{statement};
  if (!qualified.empty()) {
    const std::string create = fmt::format("NOT EXISTS {}", name);
    text.replace(text.find(create), create.size(), fmt::format("NOT EXISTS {}", qualified));
  }
  try {
    run(text.c_str(), {}, deadline);
  } catch (const Refusal& error) {
    // Made by someone else at the same moment: the name is taken in one catalogue or another.
    constexpr std::array<std::string_view, 3> taken{"23505", "42P07", "42710"};
    if (std::find(taken.begin(), taken.end(), error.sql_state()) != taken.end()) return;
    // No right to create here, or no schema to create in.
    if (error.sql_state() == "42501" || error.sql_state() == "3F000") {
      throw table_refused(error, name);
    }
    throw;
  }
}

std::vector<Row> PostgreSqlSession::change_once(Change change, std::span<const Ask> asks,
                                                LocalTime deadline) {
  std::vector<Parameter> parameters{
      array_of(asks, [](const Ask& ask) { return ask.mutex; }),
      array_of(asks, [](const Ask& ask) { return ask.contender_id; })};
  const std::string* statement = &statements_.release;
  if (change == Change::release) {
    parameters.emplace_back(versions_of(asks));
  } else {
    statement = change == Change::acquire ? &statements_.acquire : &statements_.guard;
    parameters.emplace_back(fmt::to_string(asks.front().ttl.count()));
    parameters.emplace_back(fmt::to_string(asks.front().transition.count()));
  }
  parameters.emplace_back(lock_timeout(deadline));
  if (change != Change::release) parameters.emplace_back(versions_of(asks));
  const Result result = execute(*statement, parameters, deadline);
  return rows_of(result.get(), asks.size(), connection_.database_name());
}

std::vector<Row> PostgreSqlSession::change(Change change, std::span<const Ask> asks,
                                           LocalTime deadline) {
  if (asks.empty()) return {};
  std::vector<Row> rows = change_once(change, asks, deadline);
  if (rows.size() == asks.size()) return rows;

  // The others were changed by someone else at the same moment, or, unless acquired, do not exist.
  try {
    std::vector<Ask> rest = without(asks, rows);
    for (int tries = 1; change == Change::acquire && tries < most_tries && !rest.empty(); ++tries) {
      std::ranges::move(change_once(change, rest, deadline), std::back_inserter(rows));
      rest = without(asks, rows);
    }
    if (rest.empty()) return rows;
    std::vector<std::string> mutexes;
    mutexes.reserve(rest.size());
    for (const Ask& ask : rest) mutexes.push_back(ask.mutex);
    for (Row& row : look(mutexes, deadline)) {
      const auto ask = std::find_if(rest.begin(), rest.end(),
                                    [&](const Ask& one) { return one.mutex == row.mutex; });
      row.refused = ask != rest.end() && sql::refuses(row, change, *ask);
      rows.push_back(std::move(row));
    }
  } catch (const Error& error) {
    // What was granted stays so. A guard or release that was carried out is in doubt with the rest:
    // what is wrong with that need not be repeated for each.
    if (change != Change::acquire) throw Error{ErrorKind::in_doubt, error.what()};
    if (rows.empty()) throw;
    for (const Ask& ask : without(asks, rows)) {
      rows.push_back({.mutex = ask.mutex, .owner_id = {}, .problem = error});
    }
  }
  return rows;
}

std::vector<Row> PostgreSqlSession::look(std::span<const std::string> mutexes, LocalTime deadline) {
  if (mutexes.empty()) return {};
  const std::array<Parameter, 1> parameters{array_of(mutexes, std::identity{})};
  const Result result = execute(statements_.look, parameters, deadline);
  return rows_of(result.get(), mutexes.size(), connection_.database_name());
}

bool PostgreSqlSession::init(const std::string& mutex, LocalTime deadline) {
  if (mutex.find('\0') != std::string::npos) {
    throw InvalidArgumentError{"a name must not contain a NUL character"};
  }
  const std::array<Parameter, 2> parameters{mutex, lock_timeout(deadline)};
  return PQntuples(execute(statements_.init, parameters, deadline).get()) == 1;
}

// ---- records -------------------------------------------------------------------------------

/// The same on the table of records: what is wrong with that does not concern mutexes.
Result PostgreSqlSession::execute_on_records(std::string RecordStatements::*statement,
                                             std::span<const Parameter> parameters,
                                             LocalTime deadline) {
  if (record_statements_.read.empty()) choose_record_table(deadline);
  try {
    return attempt(record_statements_.*statement, parameters, deadline);
  } catch (const Refusal& error) {
    if (!error.sql_state().starts_with("42")) throw;
    record_statements_ = {};
    throw record_table_error(error, connection_.handle());
  }
}

/// It is in the schema of the table of mutexes, wherever else the search path has one.
void PostgreSqlSession::choose_record_table(LocalTime deadline) {
  const std::string schema = chosen_.substr(0, chosen_.size() - statements::table_in("").size());
  const std::string table = statements::record_table_in(schema);
  if (!find_record_table(table, deadline)) {
    if (!table_->may_be_made()) {
      throw record_table_missing(connection_.database_name(), connection_.handle());
    }
    make_table(sql::schema::postgresql_record_sql, "simba_record", table, deadline);
    if (!find_record_table(table, deadline)) {
      throw record_table_missing(connection_.database_name(), connection_.handle());
    }
  }
  record_statements_ = {.read = statements::on_table(statements::read_records, chosen_, table),
                        .write = statements::on_table(statements::write_record, chosen_, table)};
}

/// Throws where it is not to be touched.
bool PostgreSqlSession::find_record_table(const std::string& table, LocalTime deadline) {
  const Result result = run(statements::find_tables("simba_record").c_str(), {}, deadline);
  if (PQnfields(result.get()) != 5) return false;
  const auto value = [&](int row, int column) {
    return std::string_view{PQgetvalue(result.get(), row, column)};
  };
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    if (statements::record_table_in(value(row, 3)) != table) continue;
    if (value(row, 1) == "t" || value(row, 2) == "f") return true;
    throw table_of_stranger(connection_.database_name(), table, value(row, 0),
                            PQuser(connection_.handle()));
  }
  return false;
}

std::vector<sql::FoundRecord> PostgreSqlSession::read_records(std::span<const std::string> mutexes,
                                                              LocalTime deadline) {
  if (mutexes.empty()) return {};
  const std::array<Parameter, 1> parameters{array_of(mutexes, std::identity{})};
  const Result result = execute_on_records(&RecordStatements::read, parameters, deadline);
  return records_of(result.get(), mutexes.size(), connection_.database_name());
}

RecordAnswer PostgreSqlSession::write_record(const sql::RecordAsk& ask, LocalTime deadline) {
  std::vector<Parameter> parameters{ask.mutex, ask.text, fmt::to_string(ask.replaces), {}};
  if (ask.not_before) {
    parameters.back() = fmt::to_string(ask.not_before->time_since_epoch().count());
  }
  if (ask.owner) {
    parameters.emplace_back(ask.owner->contender_id);
    parameters.emplace_back(fmt::to_string(ask.owner->least));
    parameters.emplace_back(fmt::to_string(ask.owner->greatest));
  } else {
    parameters.resize(parameters.size() + 3);
  }
  parameters.emplace_back(lock_timeout(deadline));
  const Result result = execute_on_records(&RecordStatements::write, parameters, deadline);
  RecordWritten done = written_of(result.get(), connection_.database_name());
  if (done.answer.outcome != RecordAnswer::Outcome::written) return std::move(done.answer);
  if (done.written) {
    done.answer.record.version = ask.replaces + 1;
    done.answer.record.text = ask.text;
    return std::move(done.answer);
  }
  std::vector<sql::FoundRecord> found = read_records(std::span{&ask.mutex, 1}, deadline);
  if (found.empty()) {
    throw Error{ErrorKind::internal,
                fmt::format("{}: no reply for a record", connection_.database_name())};
  }
  done.answer.outcome = RecordAnswer::Outcome::changed;
  done.answer.record = std::move(found.front().record);
  return std::move(done.answer);
}

}  // namespace simba::postgresql
