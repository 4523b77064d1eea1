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

/// What a session needs, whatever the server's settings. Answers the number of its connection.
std::string set_up(bool mariadb, bool repeatable_read, std::chrono::milliseconds statement_timeout);

/// Fails where the table is missing or is not ours. No rows.
std::string_view look_for_table() noexcept;

/// Takes a named lock of this connection's own, which others wait for in vain as long as it lives.
/// Answers 1; fails on a server that has no named locks.
std::string lock_session(std::uint64_t connection);

/// An UPDATE, then a SELECT of the rows. The UPDATE tells how many rows it has changed, but not
/// which: so before it, where there are several and it is not a release, another SELECT. That one
/// comes after a DO, since a proxy that sends what begins with SELECT to a replica would send all
/// of it.
std::string change(sql::Change change, std::span<const sql::Ask> asks);
bool looks_first(sql::Change change, std::span<const sql::Ask> asks) noexcept;

/// The same for a release, with one more column: the connection that waits for a hint, or NULL.
std::string release_with_waiters(std::span<const sql::Ask> asks, std::string_view database);

/// An INSERT of the rows that are missing, then the same as `change` for an acquire.
std::string insert_and_acquire(std::span<const sql::Ask> asks);

/// An INSERT that changes nothing where the row exists, then a SELECT of it.
std::string init(const std::string& mutex);

std::string look(std::span<const std::string> mutexes);

/// The name of the row that the table takes for this one, and the collation to blame.
std::string namesake(const std::string& mutex);

/// Ends the wait of a connection.
std::string end_wait(std::uint64_t connection);

/// Waits inside the server: first, for a second at most, to be the one that is told of a release of
/// this mutex, then, for another second, for that. The latter is a wait for the lock of a session,
/// and no SLEEP(): a killed SLEEP() can make MariaDB stand still for two seconds (decision 010).
/// Answers 2 where another connection is the one, 3 where the session is gone; else it was ended
/// (1, or error 1317) or not (0).
std::string wait_for_release(std::string_view database, std::string_view mutex,
                             std::uint64_t session);

/// Lets another connection be told.
std::string wait_no_more(std::string_view database, std::string_view mutex);

/// No limit to the time of a statement.
std::string_view set_up_waits(bool mariadb) noexcept;

}  // namespace simba::mysql::statements
