#include "mysql/session.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "mysql/answer.hpp"
#include "mysql/statements.hpp"
#include "mysql_schema.hpp"
#include "sql/rows.hpp"

namespace simba::mysql {
namespace {

using sql::Ask;
using sql::Change;
using sql::Row;

/// For texts that change no mutex.
constexpr std::size_t never_changes = 1'000;

const std::string& name_of(const Ask& ask) { return ask.mutex; }
const std::string& name_of(const std::string& mutex) { return mutex; }

/// Leaves out the rows that the collation of the table took for one of `asked`.
template <typename Items>
std::vector<Row> exactly(std::vector<Row> rows, const Items& asked) {
  std::unordered_set<std::string_view> names;
  for (const auto& item : asked) names.insert(name_of(item));
  std::erase_if(rows, [&](const Row& row) { return !names.contains(row.mutex); });
  return rows;
}

std::vector<Ask> without_row(std::span<const Ask> asks, const std::vector<Row>& rows) {
  std::unordered_set<std::string_view> names;
  for (const Row& row : rows) names.insert(row.mutex);
  std::vector<Ask> missing;
  for (const Ask& ask : asks) {
    if (!names.contains(ask.mutex)) missing.push_back(ask);
  }
  return missing;
}

/// How to make a table tell names apart that it considers equal.
std::string remedy(bool mariadb, std::string_view collation) {
  const auto alter = [](std::string_view better) {
    return fmt::format("ALTER TABLE simba_mutex CONVERT TO CHARACTER SET utf8mb4 COLLATE {}",
                       better);
  };
  if (mariadb) return "run: " + alter("utf8mb4_nopad_bin");
  if (!collation.ends_with("_bin")) return "run: " + alter("utf8mb4_bin");
  return "it ignores trailing spaces; use another name or, on MySQL 8, run: " +
         alter("utf8mb4_0900_bin");
}

}  // namespace

MySqlSession::Place::Place(Server& server, const Connection& connection)
    : server_{server}, connection_{connection} {
  server_.open_place();
}

MySqlSession::Place::~Place() {
  using std::chrono::seconds;
  const seconds longest = statements::lock_wait(server_.settings.statement_timeout) + seconds{1};
  server_.close_place(identity_,
                      connection_.left_behind() ? sql::real_now() + longest : LocalTime::min());
}

void MySqlSession::Place::arrived(std::string identity) {
  identity_ = std::move(identity);
  server_.arrived(identity_);
}

MySqlSession::MySqlSession(std::shared_ptr<Server> server, LocalTime deadline,
                           const sql::Wakeup& closing)
    : server_{std::move(server)},
      closing_{closing},
      connection_{server_->settings},
      place_{*server_, connection_} {
  connect(deadline);
  set_up(deadline);
  if (!server_->table_seen) {
    check_table(deadline);
    server_->table_seen = true;
  }
}

void MySqlSession::connect(LocalTime deadline) {
  connection_.begin_connect();
  const Reply reply = connection_.finish(deadline, closing_);
  if (reply.refusal) refuse(*reply.refusal, Phase::connecting);
}

void MySqlSession::set_up(LocalTime deadline) {
  auto text = statements::set_up(connection_.mariadb(), server_->repeatable_read,
                                 server_->settings.statement_timeout);
  text.append(";").append(statements::identity());
  const Reply reply = must(text, deadline, never_changes);
  place_.arrived(answer::identity(answer::last(reply)));
}

void MySqlSession::check_table(LocalTime deadline) {
  const Reply view = must(statements::look_for_view(), deadline, never_changes);
  if (!answer::last(view).rows.empty()) throw view_in_place_of_table(server_->settings);
  const Reply reply = ask(statements::look_for_table(), deadline);
  if (!reply.refusal) return;
  if (reply.refusal->code != table_missing ||
      server_->settings.options.sql.schema != sql::Schema::create) {
    refuse(*reply.refusal, Phase::asking);
  }
  make_table(deadline);
  must(statements::look_for_table(), deadline, never_changes);
}

void MySqlSession::make_table(LocalTime deadline) {
  const bool mariadb = connection_.mariadb();
  const Reply reply = ask(mariadb ? sql::schema::mariadb_sql : sql::schema::mysql_sql, deadline);
  if (reply.refusal) {
    throw creation_error(
        server_->settings, *reply.refusal,
        fmt::format("{}/{}.sql", SIMBA_SCHEMA_FOLDER, mariadb ? "mariadb" : "mysql"));
  }
  server_->log->log(LogLevel::info,
                    fmt::format("MySQL at {}: created table simba_mutex in database {}",
                                server_->settings.place, server_->settings.options.database));
}

Reply MySqlSession::ask(std::string_view text, LocalTime deadline) {
  connection_.begin_query(text);
  return connection_.finish(deadline, closing_);
}

/// The same; what the server refuses is thrown. The statement of number `change_is` is the one that
/// may grant or release something.
Reply MySqlSession::must(std::string_view text, LocalTime deadline, std::size_t change_is) {
  Reply reply = ask(text, deadline);
  if (reply.refusal) {
    const std::size_t refused = reply.results.size() + 1;
    refuse(*reply.refusal, refused < change_is    ? Phase::asking
                           : refused == change_is ? Phase::changing
                                                  : Phase::changed);
  }
  return reply;
}

void MySqlSession::refuse(const Refusal& refusal, Phase phase) {
  if (calls_for_another(refusal)) connection_.give_up();
  if (refusal.code == table_missing) server_->table_seen = false;
  if (refusal.code == statement_binlog) server_->repeatable_read = true;
  throw to_error(server_->settings, refusal, phase);
}

std::vector<Row> MySqlSession::change(Change change, std::span<const Ask> asks,
                                      LocalTime deadline) {
  if (asks.empty()) return {};
  return change == Change::acquire ? acquire(asks, deadline) : change_rows(change, asks, deadline);
}

std::vector<Row> MySqlSession::change_rows(Change change, std::span<const Ask> asks,
                                           LocalTime deadline) {
  const bool looked = statements::looks_first(change, asks);
  const std::size_t update = looked ? 3 : 1;
  const Reply reply = must(statements::change(change, asks), deadline, update);
  auto rows = exactly(answer::rows(answer::last(reply)), asks);
  for (const Row& row : rows) server_->saw_version(row.mutex, row.version);
  if (change == Change::release) return rows;
  std::vector<Row> before;
  if (looked) before = exactly(answer::rows(answer::statement(reply, update - 1)), asks);
  const std::uint64_t affected = answer::statement(reply, update).affected;
  return answer::with_refusals(std::move(rows), before, affected, change, asks);
}

std::vector<Row> MySqlSession::acquire(std::span<const Ask> asks, LocalTime deadline) {
  auto rows = change_rows(Change::acquire, asks, deadline);
  if (rows.size() == asks.size()) return rows;

  const auto missing = without_row(asks, rows);
  try {
    const Reply second = must(statements::insert_and_acquire(missing), deadline, 2);
    auto made = exactly(answer::rows(answer::last(second)), missing);
    const std::uint64_t affected = answer::statement(second, 2).affected;
    std::ranges::move(
        answer::with_refusals(std::move(made), {}, affected, Change::acquire, missing),
        std::back_inserter(rows));
    // A name that the table cannot hold beside another must not stop those that went with it.
    for (const Ask& ask : without_row(missing, rows)) {
      const Error error = name_taken(ask.mutex, deadline);
      if (asks.size() == 1) throw Error{error};
      rows.push_back({.mutex = ask.mutex, .owner_id = {}, .problem = error});
    }
  } catch (const Error& error) {
    if (rows.empty()) throw;
    // What was answered stays so.
    for (const Ask& ask : without_row(missing, rows)) {
      rows.push_back({.mutex = ask.mutex, .owner_id = {}, .problem = error});
    }
  }
  return rows;
}

Error MySqlSession::name_taken(const std::string& mutex, LocalTime deadline) {
  const Reply reply = must(statements::namesake(mutex), deadline, never_changes);
  std::string other = "another";
  std::string collation;
  if (const auto& rows = answer::last(reply).rows; !rows.empty() && rows.front().size() == 2) {
    other = fmt::format("\"{}\"", detail::excerpt(rows.front()[0].value_or("")));
    collation = detail::excerpt(rows.front()[1].value_or(""));
  }
  return Error{ErrorKind::configuration,
               fmt::format("table simba_mutex cannot tell mutex name \"{}\" from {} because of its "
                           "collation {}; {}",
                           mutex, other, collation, remedy(connection_.mariadb(), collation))};
}

std::vector<Row> MySqlSession::look(std::span<const std::string> mutexes, LocalTime deadline) {
  if (mutexes.empty()) return {};
  const Reply reply = must(statements::look(mutexes), deadline, never_changes);
  auto rows = exactly(answer::rows(answer::last(reply)), mutexes);
  for (const Row& row : rows) server_->saw_version(row.mutex, row.version);
  return rows;
}

bool MySqlSession::init(const std::string& mutex, LocalTime deadline) {
  const Reply reply = must(statements::init(mutex), deadline);
  const std::span<const std::string> one{&mutex, 1};
  if (exactly(answer::rows(answer::last(reply)), one).empty()) throw name_taken(mutex, deadline);
  return reply.results.front().affected == 1;
}

// ---- records -------------------------------------------------------------------------------

/// As `must`. What is wrong with the table of records does not concern mutexes, so neither the
/// connection nor what is known of their table suffers.
Reply MySqlSession::must_for_record(std::string_view text, LocalTime deadline,
                                    std::size_t change_is) {
  Reply reply = ask(text, deadline);
  if (reply.refusal && lacks_record_table(*reply.refusal) &&
      server_->settings.options.sql.schema == sql::Schema::create) {
    make_record_table(deadline);
    reply = ask(text, deadline);
  }
  if (!reply.refusal) return reply;
  if (concerns_record_table(*reply.refusal)) {
    throw record_table_error(server_->settings, *reply.refusal);
  }
  const std::size_t refused = reply.results.size() + 1;
  refuse(*reply.refusal, refused < change_is    ? Phase::asking
                         : refused == change_is ? Phase::changing
                                                : Phase::changed);
}

void MySqlSession::make_record_table(LocalTime deadline) {
  const Reply reply =
      ask(connection_.mariadb() ? sql::schema::mariadb_sql : sql::schema::mysql_sql, deadline);
  if (reply.refusal) throw record_table_error(server_->settings, *reply.refusal);
  server_->log->log(LogLevel::info,
                    fmt::format("MySQL at {}: created table simba_record in database {}",
                                server_->settings.place, server_->settings.options.database));
}

std::vector<sql::FoundRecord> MySqlSession::read_records(std::span<const std::string> mutexes,
                                                         LocalTime deadline) {
  if (mutexes.empty()) return {};
  return answer::records(
      must_for_record(statements::read_records(mutexes), deadline, never_changes), mutexes);
}

RecordAnswer MySqlSession::write_record(const sql::RecordAsk& ask, LocalTime deadline) {
  using Outcome = RecordAnswer::Outcome;
  constexpr int most_tries = 5;
  const std::string text = statements::write_record(ask);
  const std::span mutex{&ask.mutex, 1};
  for (int tries = 0; tries < most_tries; ++tries) {
    const Reply reply = must_for_record(text, deadline, 1);
    RecordAnswer answer{.outcome = Outcome::written,
                        .record = answer::record(answer::statement(reply, 2))};
    if (answer::statement(reply, 1).affected > 0) {
      answer.record.version = ask.replaces + 1;
      answer.record.text = ask.text;
      return answer;
    }
    const auto rows = exactly(answer::rows(answer::last(reply)), mutex);
    const bool owned = !ask.owner || (!rows.empty() && sql::owns(ask, rows.front()));
    answer.outcome = sql::outcome_of(ask, owned, answer.record);
    // Where nothing stands in the way any more, something did a moment before.
    if (answer.outcome != Outcome::written) return answer;
  }
  throw Error{ErrorKind::unavailable,
              fmt::format("MySQL at {}: the record of mutex \"{}\" or its owner keeps changing",
                          server_->settings.place, detail::excerpt(ask.mutex))};
}

}  // namespace simba::mysql
