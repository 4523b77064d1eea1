#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "simba/core/error.hpp"

struct pg_conn;    // of libpq
struct pg_result;  // of libpq

/// What libpq and the server say, as errors of Simba. A message is one line and names the database,
/// what is wrong and, where that is known, what to do. None holds a password: libpq never puts one
/// into a message.
namespace simba::postgresql {

/// A statement that the server has refused.
class Refusal : public Error {
 public:
  Refusal(ErrorKind kind, const std::string& message, std::string sql_state)
      : Error{kind, message}, sql_state_{std::move(sql_state)} {}

  const std::string& sql_state() const noexcept { return sql_state_; }

 private:
  std::string sql_state_;
};

/// When a statement was refused.
enum class Refused {
  at_once,
  after_its_answer,  ///< its rows had come already: while it was committed, or later
};

/// The server has refused a statement. `result` is its answer.
Refusal refusal(std::string_view database_name, const pg_conn* connection, const pg_result* result,
                Refused when);

/// True where a statement may have been carried out although it was refused with this SQLSTATE.
bool leaves_in_doubt(std::string_view sql_state, Refused when) noexcept;

/// Why connecting failed. The connection must have been set to PQERRORS_VERBOSE.
Error connect_failure(std::string_view database_name, const pg_conn* connection);

/// The connection broke while a statement was under way.
Error connection_lost(std::string_view database_name, const pg_conn* connection);

/// The table is missing and may not be made.
Error table_missing(std::string_view database_name, const pg_conn* connection);

/// The table is missing and the server refuses to make it. `error` is its refusal.
Error table_refused(const Error& error, std::string_view table);

/// The table of records is missing and may not be made.
Error record_table_missing(std::string_view database_name, const pg_conn* connection);

/// A statement on records was refused because of their table, or of a right to it.
Error record_table_error(const Refusal& refusal, const pg_conn* connection);

/// Someone else owns the table, and has put something on it that would run with our privileges.
Error table_of_stranger(std::string_view database_name, std::string_view table,
                        std::string_view owner, std::string_view user);

/// Someone who is not trusted has made a table in a schema that comes before that of one who is.
Error table_hides_another(std::string_view database_name, std::string_view table,
                          std::string_view owner);

/// The SQLSTATE of a result; empty where it has none.
std::string_view sql_state(const pg_result* result) noexcept;

/// The five characters after "SEVERITY:  " in a verbose message of libpq; empty where there are
/// none.
std::string_view sql_state_in(std::string_view message) noexcept;

/// The kind of error that an SQLSTATE means.
ErrorKind kind_of(std::string_view sql_state) noexcept;

/// The search path has a table besides the one that is used.
std::string two_tables_remark(std::string_view used, std::string_view other);

/// One line for a message: the line of `text` that tells most, without control characters and cut
/// to 300 bytes, since it may come from anyone who answers at that address.
std::string one_line(std::string_view text);

}  // namespace simba::postgresql
