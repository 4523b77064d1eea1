#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "sql/database.hpp"

struct pg_result;  // of libpq

namespace simba::postgresql {

/// The rows of an answer with the columns that statements.hpp names. Throws Error `internal` where
/// it has more than `most` rows, or one that is not such a row: what a server sends is not trusted.
std::vector<sql::Row> rows_of(const pg_result* result, std::size_t most,
                              std::string_view database_name);

}  // namespace simba::postgresql
