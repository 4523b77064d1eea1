#include "mysql/answer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "mysql/statements.hpp"
#include "simba/core/error.hpp"

namespace simba::mysql::answer {
namespace {

using Values = std::vector<StatementResult::Value>;

[[noreturn]] void refuse(const std::string& why) {
  throw Error{ErrorKind::internal,
              fmt::format("MySQL gave an answer that makes no sense: {}. Is table simba_mutex the "
                          "one of Simba?",
                          why)};
}

const StatementResult::Value& value(const Values& values, std::size_t column) {
  if (column >= values.size()) refuse(fmt::format("column {} is missing", column + 1));
  return values[column];
}

const std::string& text(const Values& values, std::size_t column) {
  const auto& found = value(values, column);
  if (!found) refuse(fmt::format("column {} is NULL", column + 1));
  return *found;
}

std::uint64_t present_number(const Values& values, std::size_t column) {
  text(values, column);
  return number(values, column).value_or(0);  // it is not NULL, or text() has refused it
}

/// A moment beyond every sensible one is the last sensible one.
std::int64_t moment(const Values& values, std::size_t column) {
  constexpr auto latest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 4);
  return static_cast<std::int64_t>(std::min(present_number(values, column), latest));
}

}  // namespace

const StatementResult& last(const Reply& reply) {
  if (reply.results.empty()) refuse("it is empty");
  return reply.results.back();
}

std::optional<std::uint64_t> number(const Values& values, std::size_t column) {
  const auto& found = value(values, column);
  if (!found) return std::nullopt;
  std::uint64_t result = 0;
  const char* const end = found->data() + found->size();
  const auto [stop, error] = std::from_chars(found->data(), end, result);
  if (error != std::errc{} || stop != end) {
    refuse(fmt::format("column {} is not a whole number", column + 1));
  }
  return result;
}

sql::Row row(const Values& values) {
  return {.mutex = text(values, 0),
          .owner_id = text(values, 1),
          .acquired_at = moment(values, 2),
          .ttl_at = moment(values, 3),
          .transition_at = moment(values, 4),
          .version = present_number(values, 5),
          .now = moment(values, 6)};
}

std::vector<sql::Row> rows(const StatementResult& result) {
  if (result.columns < statements::row_columns) {
    refuse(fmt::format("it has {} columns", result.columns));
  }
  std::vector<sql::Row> all;
  all.reserve(result.rows.size());
  for (const auto& values : result.rows) all.push_back(row(values));
  return all;
}

}  // namespace simba::mysql::answer
