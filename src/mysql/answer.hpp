#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mysql/connection.hpp"
#include "sql/database.hpp"

/// Reads what a server answers and believes none of it: throws Error `internal` where there are too
/// few columns, a NULL, or text where a number belongs.
namespace simba::mysql::answer {

/// The last result, which a text of statements ends with.
const StatementResult& last(const Reply& reply);

/// That of the statement of this number; the first is 1.
const StatementResult& statement(const Reply& reply, std::size_t number);

/// What the rows of `statements::identity` say, as one text; empty: nothing.
std::string identity(const StatementResult& result);

/// `values` begin with the columns of a row.
sql::Row row(const std::vector<StatementResult::Value>& values);

std::vector<sql::Row> rows(const StatementResult& result);

/// The rows after an UPDATE that has changed `affected` of them. `before` are those that were
/// looked at before it; one that is missing there may have been changed by it.
///
/// Others may have changed a row between any two statements. What names the contender and has not
/// grown, or grew while the UPDATE changed nothing, is not its work. Where more rows grew than it
/// has changed, a namesake was at work in the same moment, nobody knows where: then acquisitions
/// ask again under the version that they find, and renewals believe what is no further than their
/// own step, as after an answer that was lost. A step further is a namesake that came after it.
std::vector<sql::Row> with_refusals(std::vector<sql::Row> rows, const std::vector<sql::Row>& before,
                                    std::uint64_t affected, sql::Change change,
                                    std::span<const sql::Ask> asks);

/// What `statements::read_records` was answered.
std::vector<sql::FoundRecord> records(const Reply& reply, std::span<const std::string> mutexes);

/// The record that was found after a write.
MutexRecord record(const StatementResult& result);

/// Empty: NULL.
std::optional<std::uint64_t> number(const std::vector<StatementResult::Value>& values,
                                    std::size_t column);

}  // namespace simba::mysql::answer
