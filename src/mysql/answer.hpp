#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mysql/connection.hpp"
#include "sql/database.hpp"

/// Reads what a server answers and believes none of it: throws Error `internal` where there are too
/// few columns, a NULL, or text where a number belongs.
namespace simba::mysql::answer {

/// The last result, which a text of statements ends with.
const StatementResult& last(const Reply& reply);

/// `values` begin with the columns of a row.
sql::Row row(const std::vector<StatementResult::Value>& values);

std::vector<sql::Row> rows(const StatementResult& result);

/// Empty: NULL.
std::optional<std::uint64_t> number(const std::vector<StatementResult::Value>& values,
                                    std::size_t column);

}  // namespace simba::mysql::answer
