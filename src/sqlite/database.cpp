#include "sqlite/database.hpp"

#include <utility>

#include <fmt/format.h>

#include "sqlite/connection.hpp"
#include "sqlite/feed.hpp"
#include "sqlite/session.hpp"
#include "sqlite_schema.hpp"

namespace simba::sqlite {
namespace {

constexpr const char* tables =
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name IN ('simba_mutex', 'simba_clock') "
    "GROUP BY type HAVING count(*) = 2";
constexpr const char* liveness_column =
    "SELECT 1 FROM pragma_table_info('simba_mutex') WHERE name = 'liveness'";

}  // namespace

SqliteDatabase::SqliteDatabase(Place place, ChildProcesses child_processes, sql::Schema schema,
                               std::shared_ptr<Logger> log, HostClock clock)
    : place_{std::move(place)},
      alive_path_{place_.file().string() + "-alive"},
      name_{"SQLite database " + place_.file().string()},
      child_processes_{child_processes},
      schema_{schema},
      log_{std::move(log)},
      clock_{std::move(clock)} {}

std::unique_ptr<sql::Session> SqliteDatabase::connect(LocalTime deadline,
                                                      const sql::Wakeup& closing) {
  place_.check();
  place_.make();
  auto connection = std::make_unique<Connection>(place_.file(), deadline, closing);
  connection->use_write_ahead_log();
  place_.check();  // again: what is open now may have been put there after the first look
  ensure_schema(*connection);
  auto liveness = ensure_liveness(deadline, closing);
  HostClock clock;
  {
    const std::lock_guard lock{mutex_};
    if (!clock_.since_boot) clock_ = make_host_clock();
    clock = clock_;
  }
  return std::make_unique<SqliteSession>(std::move(connection), std::move(liveness),
                                         std::move(clock), schema_);
}

void SqliteDatabase::ensure_schema(Connection& connection) const {
  if (has_row(connection, tables) && has_row(connection, liveness_column)) return;
  if (schema_ == sql::Schema::expect) {
    throw Error{
        ErrorKind::configuration,
        fmt::format(
            "SQLite store: {} lacks the tables of Simba; create them with the statements in "
            "{}/sqlite.sql, or let the store create them (Schema::create)",
            place_.file().string(), SIMBA_SCHEMA_FOLDER)};
  }
  Transaction transaction{connection};
  connection.execute(sql::schema::sqlite_sql.data());
  if (!has_row(connection, liveness_column)) {  // a table that someone else has made
    connection.execute("ALTER TABLE simba_mutex ADD COLUMN liveness TEXT NOT NULL DEFAULT ''");
  }
  transaction.commit();
}

std::shared_ptr<const Liveness> SqliteDatabase::ensure_liveness(LocalTime deadline,
                                                                const sql::Wakeup& closing) {
  const std::lock_guard lock{mutex_};
  if (!liveness_) {
    liveness_ = std::make_shared<const Liveness>(alive_path_, place_.file(), child_processes_,
                                                 deadline, closing);
  }
  return liveness_;
}

std::unique_ptr<sql::ChangeFeed> SqliteDatabase::make_feed() {
  return std::make_unique<FileFeed>(place_.file().string() + "-wal", alive_path_, log_);
}

}  // namespace simba::sqlite
