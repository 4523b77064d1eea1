#include "postgresql/values.hpp"

#include <chrono>
#include <cstdint>
#include <libpq-fe.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

constexpr int row_columns = 7;

class Reader {
 public:
  Reader(const PGresult* result, std::string_view database_name)
      : result_{result}, database_name_{database_name} {}

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error{ErrorKind::internal,
                fmt::format("{}: invalid reply: {}; was table simba_mutex created by Simba?",
                            database_name_, what)};
  }

  std::string_view text(int row, int column) const {
    if (PQgetisnull(result_, row, column) != 0) {
      refuse(fmt::format("column {} is NULL", column + 1));
    }
    return {PQgetvalue(result_, row, column),
            static_cast<std::size_t>(PQgetlength(result_, row, column))};
  }

  template <typename Number>
  Number number(int row, int column) const {
    const auto value = detail::parse_number<Number>(text(row, column));
    if (!value) refuse(fmt::format("column {} is not a valid number", column + 1));
    return *value;
  }

  /// Version, content and time, from this column on.
  MutexRecord record(int row, int column) const {
    return {.text = std::string{text(row, column + 1)},
            .version = number<std::uint64_t>(row, column),
            .now = SystemTime{std::chrono::milliseconds{number<std::int64_t>(row, column + 2)}}};
  }

 private:
  const PGresult* result_;
  std::string_view database_name_;
};

}  // namespace

void ArrayLiteral::add(std::string_view element) {
  if (text_.size() > 1) text_ += ',';
  text_ += '"';
  for (const char c : element) {
    if (c == '\0') throw InvalidArgumentError{"a name must not contain a NUL character"};
    if (c == '"' || c == '\\') text_ += '\\';
    text_ += c;
  }
  text_ += '"';
}

void ArrayLiteral::add_null() {
  if (text_.size() > 1) text_ += ',';
  text_ += "NULL";
}

std::string ArrayLiteral::take() && {
  text_ += '}';
  return std::move(text_);
}

std::vector<sql::Row> rows_of(const PGresult* result, std::size_t most,
                              std::string_view database_name) {
  const Reader reader{result, database_name};
  const int count = PQntuples(result);
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQnfields(result) < row_columns) {
    reader.refuse("columns are missing");
  }
  if (static_cast<std::size_t>(count) > most) reader.refuse("more rows than requested");
  const int refused = PQfnumber(result, "refused");
  std::vector<sql::Row> rows;
  rows.reserve(static_cast<std::size_t>(count));
  for (int row = 0; row < count; ++row) {
    rows.push_back({.mutex = std::string{reader.text(row, 0)},
                    .owner_id = std::string{reader.text(row, 1)},
                    .acquired_at = reader.number<std::int64_t>(row, 2),
                    .ttl_at = reader.number<std::int64_t>(row, 3),
                    .transition_at = reader.number<std::int64_t>(row, 4),
                    .version = reader.number<FencingToken>(row, 5),
                    .now = reader.number<std::int64_t>(row, 6),
                    .refused = refused >= 0 && reader.text(row, refused) == "t"});
  }
  return rows;
}

std::vector<sql::FoundRecord> records_of(const PGresult* result, std::size_t most,
                                         std::string_view database_name) {
  const Reader reader{result, database_name};
  const int count = PQntuples(result);
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQnfields(result) != 4) {
    reader.refuse("columns are missing");
  }
  if (static_cast<std::size_t>(count) > most) reader.refuse("more rows than requested");
  std::vector<sql::FoundRecord> records;
  records.reserve(static_cast<std::size_t>(count));
  for (int row = 0; row < count; ++row) {
    records.push_back({std::string{reader.text(row, 0)}, reader.record(row, 1)});
  }
  return records;
}

RecordWritten written_of(const PGresult* result, std::string_view database_name) {
  using Outcome = RecordAnswer::Outcome;
  const Reader reader{result, database_name};
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQnfields(result) != 5 ||
      PQntuples(result) != 1) {
    reader.refuse("columns or rows are missing");
  }
  RecordAnswer answer{.outcome = Outcome::written, .record = reader.record(0, 2)};
  const std::string_view outcome = reader.text(0, 0);
  if (outcome == "not_owned") {
    answer.outcome = Outcome::not_owned;
  } else if (outcome == "changed") {
    answer.outcome = Outcome::changed;
  } else if (outcome == "too_early") {
    answer.outcome = Outcome::too_early;
  } else if (outcome != "written") {
    reader.refuse("unknown outcome");
  }
  return {std::move(answer), reader.text(0, 1) == "t"};
}

}  // namespace simba::postgresql
