#include "mysql/session.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <unordered_set>

#include <fmt/format.h>

#include "mysql/answer.hpp"
#include "mysql/statements.hpp"
#include "mysql_schema.hpp"

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

MySqlSession::MySqlSession(std::shared_ptr<Server> server, LocalTime deadline,
                           const sql::Wakeup& closing)
    : server_{std::move(server)}, closing_{closing}, connection_{server_->settings} {
  connect(deadline);
  const Reply reply = must(statements::set_up(connection_.mariadb(), server_->repeatable_read,
                                              server_->settings.statement_timeout),
                           deadline, never_changes);
  if (server_->hints()) check_number(reply);
  if (!server_->table_seen) {
    check_table(deadline);
    server_->table_seen = true;
  }
  if (server_->hints()) lock_session(deadline);
}

MySqlSession::~MySqlSession() { server_->session_closed(serial_); }

void MySqlSession::connect(LocalTime deadline) {
  connection_.begin_connect();
  const Reply reply = connection_.finish(deadline, closing_);
  if (reply.refusal) refuse(*reply.refusal, Phase::connecting);
  if (server_->settings.options.tls.mode != TlsMode::off && !connection_.encrypted()) {
    connection_.give_up();
    throw Error{ErrorKind::configuration,
                fmt::format("MySQL at {} does not support TLS, which tls.mode requires",
                            server_->settings.place)};
  }
}

void MySqlSession::check_table(LocalTime deadline) {
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

/// A proxy counts connections by itself: killing by the server's number would hit a stranger.
void MySqlSession::check_number(const Reply& reply) {
  const auto& rows = answer::last(reply).rows;
  if (rows.empty() || answer::number(rows.front(), 0) != connection_.number()) {
    server_->no_more_hints("connected through a proxy");
  }
}

void MySqlSession::lock_session(LocalTime deadline) {
  const Reply reply = ask(statements::lock_session(connection_.number()), deadline);
  if (reply.refusal) {
    if (to_error(server_->settings, *reply.refusal, Phase::asking).is_transient()) {
      refuse(*reply.refusal, Phase::asking);
    }
    server_->no_more_hints(reply.refusal->message);
    return;
  }
  const auto& rows = answer::last(reply).rows;
  if (!rows.empty() && answer::number(rows.front(), 0) == 1U) {
    serial_ = server_->session_opened(connection_.number());
  }
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
  waiters_.clear();
  granted_.clear();
  if (asks.empty()) return {};
  switch (change) {
    case Change::acquire: {
      auto rows = acquire(asks, deadline);
      for (const Row& row : rows) {
        const auto mine = [&](const Ask& ask) {
          return ask.mutex == row.mutex && ask.contender_id == row.owner_id && !row.refused;
        };
        if (std::any_of(asks.begin(), asks.end(), mine)) granted_.insert(row.mutex);
      }
      return rows;
    }
    case Change::release:
      if (server_->hints()) return release(asks, deadline);
      break;
    case Change::guard:
      break;
  }
  return change_rows(change, asks, deadline);
}

std::vector<Row> MySqlSession::change_rows(Change change, std::span<const Ask> asks,
                                           LocalTime deadline) {
  const bool looked = statements::looks_first(change, asks);
  const std::size_t update = looked ? 3 : 1;
  const Reply reply = must(statements::change(change, asks), deadline, update);
  auto rows = exactly(answer::rows(answer::last(reply)), asks);
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
  } catch (const Error&) {
    if (rows.empty()) throw;
    return rows;  // what was answered stays so; the others are in doubt and ask again
  }
  // A name that the table cannot hold beside another must not stop those that went with it.
  for (const Ask& ask : without_row(missing, rows)) {
    const Error error = name_taken(ask.mutex, deadline);
    if (asks.size() == 1) throw Error{error};
    server_->name_taken(ask.mutex, error.what());
  }
  return rows;
}

std::vector<Row> MySqlSession::release(std::span<const Ask> asks, LocalTime deadline) {
  const Reply reply =
      must(statements::release_with_waiters(asks, server_->settings.options.database), deadline);
  const StatementResult& result = answer::last(reply);
  for (const auto& values : result.rows) {
    if (const auto waiter = answer::number(values, statements::row_columns)) {
      waiters_.emplace_back(answer::row(values).mutex, *waiter);
    }
  }
  return exactly(answer::rows(result), asks);
}

Error MySqlSession::name_taken(const std::string& mutex, LocalTime deadline) {
  const Reply reply = must(statements::namesake(mutex), deadline, never_changes);
  std::string other = "another";
  std::string collation;
  if (const auto& rows = answer::last(reply).rows; !rows.empty() && rows.front().size() == 2) {
    other = fmt::format("\"{}\"", rows.front()[0].value_or(""));
    collation = rows.front()[1].value_or("");
  }
  return Error{ErrorKind::configuration,
               fmt::format("table simba_mutex cannot tell mutex name \"{}\" from {} because of its "
                           "collation {}; {}",
                           mutex, other, collation, remedy(connection_.mariadb(), collation))};
}

std::vector<Row> MySqlSession::look(std::span<const std::string> mutexes, LocalTime deadline) {
  if (mutexes.empty()) return {};
  const Reply reply = must(statements::look(mutexes), deadline, never_changes);
  return exactly(answer::rows(answer::last(reply)), mutexes);
}

bool MySqlSession::init(const std::string& mutex, LocalTime deadline) {
  const Reply reply = must(statements::init(mutex), deadline);
  const std::span<const std::string> one{&mutex, 1};
  if (exactly(answer::rows(answer::last(reply)), one).empty()) throw name_taken(mutex, deadline);
  return reply.results.front().affected == 1;
}

void MySqlSession::after(Change change, std::span<const Row> rows) noexcept {
  if (change == Change::guard || !server_->hints()) return;
  try {
    const LocalTime deadline = sql::real_now() + server_->settings.statement_timeout;
    for (const std::uint64_t waiter : waits_to_end(change, rows)) {
      if (!connection_.alive()) break;
      const Reply reply = ask(statements::end_wait(waiter), deadline);
      if (reply.refusal && reply.refusal->code == no_right_to_kill) {
        server_->no_more_hints(reply.refusal->message);
        break;
      }
    }
  } catch (const std::exception&) {  // the waiter finds out by itself
    connection_.give_up();
  }
  waiters_.clear();
}

/// After a release: those that wait for what is free now. After an acquisition: the wait of our own
/// process, which would keep another one from being told.
std::vector<std::uint64_t> MySqlSession::waits_to_end(Change change,
                                                      std::span<const Row> rows) const {
  std::vector<std::uint64_t> waits;
  for (const Row& row : rows) {
    if (change == Change::acquire) {
      const auto own = server_->waiting_for(row.mutex);
      if (own && granted_.contains(row.mutex)) waits.push_back(*own);
    } else if (row.owner_id.empty()) {
      const auto found = std::find_if(waiters_.begin(), waiters_.end(), [&](const auto& waiter) {
        return waiter.first == row.mutex;
      });
      if (found != waiters_.end()) waits.push_back(found->second);
    }
  }
  return waits;
}

}  // namespace simba::mysql
