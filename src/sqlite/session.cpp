#include "sqlite/session.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "sql/rows.hpp"
#include "sqlite_schema.hpp"

namespace simba::sqlite {

using sql::Ask;
using sql::Change;
using sql::Row;
using std::chrono::floor;
using std::chrono::milliseconds;

namespace {

std::string json_array(std::span<const std::string> texts) {
  std::string json = "[";
  for (const std::string& text : texts) {
    if (json.size() > 1) json += ',';
    json += '"';
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        json += '\\';
        json += c;
      } else if (byte < 0x20) {
        json += fmt::format("\\u{:04x}", byte);
      } else {
        json += c;
      }
    }
    json += '"';
  }
  return json += ']';
}

std::vector<std::string> mutexes_of(std::span<const Ask> asks) {
  std::vector<std::string> mutexes;
  mutexes.reserve(asks.size());
  for (const Ask& ask : asks) mutexes.push_back(ask.mutex);
  return mutexes;
}

Statement& bind_version(Statement& statement, int parameter, const Ask& ask) {
  return ask.version ? statement.bind(parameter, static_cast<std::int64_t>(*ask.version))
                     : statement.bind_null(parameter);
}

/// The rows that the asks have not changed.
std::vector<Row> refused(Change change, std::span<const Ask> asks, std::vector<Row> unchanged) {
  for (Row& row : unchanged) {
    row.refused = std::any_of(asks.begin(), asks.end(), [&](const Ask& ask) {
      return ask.mutex == row.mutex && sql::refuses(row, change, ask);
    });
  }
  return unchanged;
}

}  // namespace

SqliteSession::SqliteSession(std::unique_ptr<Connection> connection,
                             std::shared_ptr<const Liveness> liveness, HostClock clock,
                             sql::Schema schema)
    : connection_{std::move(connection)},
      liveness_{std::move(liveness)},
      clock_{std::move(clock)},
      schema_{schema},
      acquire_{*connection_, statements::acquire},
      guard_{*connection_, statements::guard},
      release_{*connection_, statements::release},
      look_{*connection_, statements::look},
      look_at_many_{*connection_, statements::look_at_many},
      init_{*connection_, statements::init},
      read_clock_{*connection_, statements::clock} {
  connection_->execute("PRAGMA synchronous = FULL");
  begin_clock();
}

// ---- the clock -----------------------------------------------------------------------------

std::int64_t SqliteSession::now() const { return clock_.since_boot().count() + epoch_offset_; }

/// False: this boot has no clock yet.
bool SqliteSession::read_offset() {
  if (!read_clock_.step()) return false;
  const bool is_number = read_clock_.is_number(0);
  epoch_offset_ = read_clock_.number(0);
  read_clock_.reset();
  // Three thousand centuries either way: sums with it do not overflow.
  constexpr std::int64_t most = std::int64_t{1} << 53U;
  if (is_number && epoch_offset_ >= -most && epoch_offset_ <= most) return true;
  throw Error{ErrorKind::configuration,
              fmt::format("SQLite store: {}: invalid epoch_offset in table simba_clock; delete all "
                          "its rows while nobody uses the database",
                          connection_->path().string())};
}

void SqliteSession::begin_clock() {
  read_clock_.bind(1, clock_.boot_id);
  if (read_offset()) return;
  Transaction transaction{*connection_};
  if (read_offset()) return;  // another process was faster
  Statement owners{*connection_, statements::owners};
  while (owners.step()) {
    if (liveness_->state_of(owners.text(0)) == Liveness::State::alive) {
      throw Error{
          ErrorKind::configuration,
          fmt::format("SQLite store: {} is in use by a process with another boot id (on "
                      "another host or in a sandbox?); all processes that use a database must "
                      "run on one host",
                      connection_->path().string())};
    }
  }
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  epoch_offset_ = floor<milliseconds>(wall).count() - clock_.since_boot().count();
  Statement{*connection_, statements::free_all}.run();
  Statement{*connection_, statements::forget_clocks}.run();
  Statement{*connection_, statements::set_clock}
      .bind(1, clock_.boot_id)
      .bind(2, epoch_offset_)
      .run();
  transaction.commit();
}

/// Inside a transaction: the clock is still the one that this session counts by.
void SqliteSession::check_clock() {
  const bool same = read_clock_.step() && read_clock_.number(0) == epoch_offset_;
  read_clock_.reset();
  if (same) return;
  usable_ = false;
  throw Error{ErrorKind::unavailable,
              fmt::format("SQLite store: {}: the clock of the database was reset",
                          connection_->path().string())};
}

// ---- requests ------------------------------------------------------------------------------

std::vector<Row> SqliteSession::change(Change change, std::span<const Ask> asks,
                                       LocalTime deadline) {
  connection_->set_deadline(deadline);
  const auto mutexes = mutexes_of(asks);
  std::unordered_map<std::string, Marks> marks;
  if (change == Change::acquire) {
    // What cannot be had is found out by reading, which gets in nobody's way.
    auto found = read(mutexes);
    std::size_t held = 0;
    for (const Found& one : found) {
      const auto ask = std::find_if(asks.begin(), asks.end(),
                                    [&](const Ask& a) { return a.mutex == one.row.mutex; });
      if (ask != asks.end() && !may_take(one, *ask)) ++held;
      if (is_gone(one)) marks[one.row.mutex].gone = one.liveness;
      if (ask != asks.end() && is_alive_elsewhere(one, *ask)) {
        marks[one.row.mutex].alive = one.liveness;
      }
    }
    if (held == asks.size()) return refused(change, asks, shown(std::move(found)));
  }
  set_durability(change == Change::acquire ? Durability::at_once : Durability::soon);
  Transaction transaction{*connection_};
  connection_->check_place();
  check_clock();
  std::vector<Found> found;
  std::vector<std::string> unchanged;
  for (const Ask& ask : asks) {
    if (auto row = run_change(change, ask, marks[ask.mutex])) {
      found.push_back(std::move(*row));
    } else {
      unchanged.push_back(ask.mutex);
    }
  }
  std::vector<Row> rows = shown(std::move(found));
  if (!unchanged.empty()) {
    std::ranges::move(refused(change, asks, shown(read(unchanged))), std::back_inserter(rows));
  }
  transaction.commit();
  return rows;
}

std::optional<SqliteSession::Found> SqliteSession::run_change(Change change, const Ask& ask,
                                                              const Marks& marks) {
  const std::int64_t moment = now();
  const std::int64_t ttl_at = moment + ask.ttl.count();
  const std::int64_t transition_at = ttl_at + ask.transition.count();
  switch (change) {
    case Change::acquire:
      acquire_.bind(1, ask.mutex)
          .bind(2, ask.contender_id)
          .bind(3, moment)
          .bind(4, ttl_at)
          .bind(5, transition_at)
          .bind(6, liveness_->mark())
          .bind(7, marks.gone)
          .bind(9, marks.alive);
      return result_of(bind_version(acquire_, 8, ask));
    case Change::guard:
      guard_.bind(1, ask.mutex)
          .bind(2, ask.contender_id)
          .bind(3, moment)
          .bind(4, ttl_at)
          .bind(5, transition_at);
      return result_of(bind_version(guard_, 6, ask));
    case Change::release:
      break;
  }
  release_.bind(1, ask.mutex).bind(2, ask.contender_id);
  return result_of(bind_version(release_, 3, ask));
}

std::optional<SqliteSession::Found> SqliteSession::result_of(Statement& statement) const {
  if (!statement.step()) return std::nullopt;
  Found found = found_in(statement);
  statement.run();
  return found;
}

std::vector<Row> SqliteSession::look(std::span<const std::string> mutexes, LocalTime deadline) {
  connection_->set_deadline(deadline);
  return shown(read(mutexes));
}

bool SqliteSession::init(const std::string& mutex, LocalTime deadline) {
  connection_->set_deadline(deadline);
  init_.bind(1, mutex);
  const bool made = init_.step();
  if (made) init_.run();
  return made;
}

// ---- records -------------------------------------------------------------------------------

SqliteSession::RecordStatements& SqliteSession::record_statements() {
  if (records_) return *records_;
  const auto is_there = [this] { return has_row(*connection_, statements::look_for_records); };
  if (!is_there() && schema_ == sql::Schema::create) {
    Transaction transaction{*connection_};
    connection_->execute(sql::schema::sqlite_sql.data());
    transaction.commit();
  }
  if (!is_there()) {
    throw Error{ErrorKind::configuration,
                fmt::format("SQLite store: {} lacks table simba_record, or it differs from that in "
                            "{}/sqlite.sql; records of schedules need it; run simba init",
                            connection_->path().string(), SIMBA_SCHEMA_FOLDER)};
  }
  return records_.emplace(*connection_);
}

std::vector<sql::FoundRecord> SqliteSession::find_records(std::span<const std::string> mutexes) {
  // The host's wall clock: that of the database never hears of its being set.
  const auto now = floor<milliseconds>(std::chrono::system_clock::now());
  Statement& statement = record_statements().read;
  statement.bind(1, json_array(mutexes));
  std::vector<sql::FoundRecord> found;
  while (statement.step()) {
    found.push_back({statement.text(0), {.now = now}});
    sql::FoundRecord& one = found.back();
    if (statement.is_null(1)) continue;
    if (!statement.is_number(1) || statement.number(1) < 0 || !statement.is_text(2)) {
      statement.reset();
      throw Error{
          ErrorKind::configuration,
          fmt::format("SQLite store: {}: invalid values in table simba_record for mutex \"{}\"; "
                      "delete that row while nobody uses the mutex",
                      connection_->path().string(), detail::excerpt(one.mutex))};
    }
    one.record.version = static_cast<std::uint64_t>(statement.number(1));
    one.record.text = statement.text(2);
  }
  return found;
}

std::vector<sql::FoundRecord> SqliteSession::read_records(std::span<const std::string> mutexes,
                                                          LocalTime deadline) {
  connection_->set_deadline(deadline);
  return find_records(mutexes);
}

RecordAnswer SqliteSession::write_record(const sql::RecordAsk& ask, LocalTime deadline) {
  connection_->set_deadline(deadline);
  Statement& write = record_statements().write;
  set_durability(Durability::at_once);
  Transaction transaction{*connection_};
  connection_->check_place();
  check_clock();
  const std::span mutex{&ask.mutex, 1};
  const std::vector<Row> rows = shown(read(mutex));
  const bool owned = !ask.owner || (!rows.empty() && sql::owns(ask, rows.front()));
  RecordAnswer answer;
  answer.record = std::move(find_records(mutex).front().record);
  answer.outcome = sql::outcome_of(ask, owned, answer.record);
  if (answer.outcome != RecordAnswer::Outcome::written) return answer;
  ++answer.record.version;
  answer.record.text = ask.text;
  write.bind(1, ask.mutex)
      .bind(2, static_cast<std::int64_t>(answer.record.version))
      .bind(3, ask.text)
      .run();
  transaction.commit();
  return answer;
}

// ---- small parts ---------------------------------------------------------------------------

/// An acquisition is on the disk when it is answered, and all that came before it with it. What
/// else is written may be lost in a power cut: then the boot is another one, and nobody owns
/// anything.
void SqliteSession::set_durability(Durability durability) {
  if (durability == durability_) return;
  connection_->execute(durability == Durability::at_once ? "PRAGMA synchronous = FULL"
                                                         : "PRAGMA synchronous = NORMAL");
  durability_ = durability;
}

bool SqliteSession::is_gone(const Found& found) const {
  return !found.row.owner_id.empty() &&
         liveness_->state_of(found.liveness) == Liveness::State::gone;
}

/// Its owner has the same contender id, and a mark that nobody but a living process can have.
bool SqliteSession::is_alive_elsewhere(const Found& found, const Ask& ask) const {
  return ask.version && found.row.owner_id == ask.contender_id &&
         found.liveness != liveness_->mark() &&
         liveness_->state_of(found.liveness) == Liveness::State::alive;
}

bool SqliteSession::may_take(const Found& found, const Ask& ask) const {
  const bool own = found.row.owner_id == ask.contender_id &&
                   (!ask.version || found.row.version == *ask.version) &&
                   !is_alive_elsewhere(found, ask);
  return found.row.transition_at < now() || own || is_gone(found);
}

std::vector<SqliteSession::Found> SqliteSession::read(std::span<const std::string> mutexes) {
  std::vector<Found> found;
  Statement& statement = mutexes.size() == 1 ? look_ : look_at_many_;
  statement.bind(1, mutexes.size() == 1 ? mutexes.front() : json_array(mutexes));
  while (statement.step()) found.push_back(found_in(statement));
  return found;
}

std::vector<Row> SqliteSession::shown(std::vector<Found> found) const {
  std::vector<Row> rows;
  rows.reserve(found.size());
  const std::int64_t moment = now();
  for (Found& one : found) {
    if (is_gone(one)) one.row.owner_id.clear();
    one.row.now = moment;
    rows.push_back(std::move(one.row));
  }
  return rows;
}

SqliteSession::Found SqliteSession::found_in(Statement& statement) const {
  constexpr int owner = 1;
  constexpr int version = 5;
  constexpr int mark = 6;
  for (int column = owner; column <= mark; ++column) {
    const bool is_valid =
        column == owner || column == mark ? statement.is_text(column) : statement.is_number(column);
    if (is_valid && (column != version || statement.number(column) >= 0)) continue;
    const std::string mutex = statement.text(0);
    statement.reset();
    throw Error{
        ErrorKind::configuration,
        fmt::format(
            "SQLite store: {}: invalid value in column {} of the row of mutex \"{}\"; delete the "
            "row while nobody uses the mutex",
            connection_->path().string(), column + 1, detail::excerpt(mutex))};
  }
  return {.row = {.mutex = statement.text(0),
                  .owner_id = statement.text(owner),
                  .acquired_at = statement.number(2),
                  .ttl_at = statement.number(3),
                  .transition_at = statement.number(4),
                  .version = static_cast<FencingToken>(statement.number(version)),
                  .now = 0},
          .liveness = statement.text(mark)};
}

}  // namespace simba::sqlite
