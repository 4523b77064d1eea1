#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sql/database.hpp"

struct pg_result;  // of libpq

namespace simba::postgresql {

/// The text form of a PostgreSQL array, which goes to the server as a parameter.
class ArrayLiteral {
 public:
  /// Throws InvalidArgumentError where `element` has a NUL, which no text of PostgreSQL can hold.
  void add(std::string_view element);
  void add_null();

  /// Ends the array.
  std::string take() &&;

 private:
  std::string text_{"{"};
};

/// The rows of an answer with the columns that statements.hpp names. Throws Error `internal` where
/// it has more than `most` rows, or one that is not such a row: what a server sends is not trusted.
std::vector<sql::Row> rows_of(const pg_result* result, std::size_t most,
                              std::string_view database_name);

/// The same for an answer to `statements::read_records`.
std::vector<sql::FoundRecord> records_of(const pg_result* result, std::size_t most,
                                         std::string_view database_name);

/// What `statements::write_record` has answered.
struct RecordWritten {
  RecordAnswer answer;  ///< the outcome with the record as it was found
  bool written = false;
};
RecordWritten written_of(const pg_result* result, std::string_view database_name);

}  // namespace simba::postgresql
