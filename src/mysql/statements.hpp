#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sql/database.hpp"

/// Every statement that Simba sends to MySQL and MariaDB, as text. Several in one text go in one
/// trip.
///
/// Names and ids are hexadecimal literals, so no setting of the server can make them anything else
/// than data. They are compared byte by byte whatever the collation of the table.
///
/// Time is the server's, in UTC, as it was when a statement began. A change that waited for a row
/// lock therefore has a time of the past; it never shortens a lease that was written meanwhile,
/// however long it waited.
namespace simba::mysql::statements {

/// Columns: mutex, owner_id, acquired_at, ttl_at, transition_at, version, now.
inline constexpr std::size_t row_columns = 7;

/// How long a statement waits for a lock, on a row or on the table, before the server gives up. It
/// does so before the client, so that the outcome is known; the server counts in seconds.
std::chrono::seconds lock_wait(std::chrono::milliseconds statement_timeout) noexcept;

/// What a session needs, whatever the server's settings.
std::string set_up(bool mariadb, bool repeatable_read, std::chrono::milliseconds statement_timeout);

/// What tells a server from others at the same address. A row for each of some variables; one that
/// the server does not have is left out, where a SELECT of it would fail.
std::string_view identity() noexcept;

/// Yields a row if there is a view in place of the table.
std::string_view look_for_view() noexcept;

/// Fails where the table is missing or is not ours. No rows.
std::string_view look_for_table() noexcept;

/// An UPDATE, then a SELECT of the rows. The UPDATE tells how many rows it has changed, but not
/// which: so before it, where there are several and it is not a release, another SELECT. That one
/// comes after a DO, since a proxy that sends what begins with SELECT to a replica would send all
/// of it.
std::string change(sql::Change change, std::span<const sql::Ask> asks);
bool looks_first(sql::Change change, std::span<const sql::Ask> asks) noexcept;

/// An INSERT of the rows that are missing, then the same as `change` for an acquire.
std::string insert_and_acquire(std::span<const sql::Ask> asks);

/// An INSERT that changes nothing where the row exists, then a SELECT of it.
std::string init(const std::string& mutex);

std::string look(std::span<const std::string> mutexes);

/// The name of the row that the table takes for this one, and the collation to blame.
std::string namesake(const std::string& mutex);

/// Columns: mutex, version, content. After a DO, as above, and the time in ms.
std::string read_records(std::span<const std::string> mutexes);

/// An INSERT or UPDATE that changes nothing unless all conditions hold, then two SELECTs: of the
/// record (version, content and the time, the first two NULL where there is none) and of the row of
/// the mutex, which a condition on the owner locks for the change.
std::string write_record(const sql::RecordAsk& ask);

}  // namespace simba::mysql::statements
