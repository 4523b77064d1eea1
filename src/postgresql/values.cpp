#include "postgresql/values.hpp"

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

}  // namespace simba::postgresql
