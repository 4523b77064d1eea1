#include "mysql/answer.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "core/text.hpp"
#include "mysql/statements.hpp"
#include "simba/core/error.hpp"

namespace simba::mysql::answer {
namespace {

using Values = std::vector<StatementResult::Value>;

[[noreturn]] void refuse(const std::string& why) {
  throw Error{
      ErrorKind::internal,
      fmt::format("invalid reply from MySQL: {}; was table simba_mutex created by Simba?", why)};
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

const StatementResult& statement(const Reply& reply, std::size_t number) {
  if (number > reply.results.size()) refuse(fmt::format("it has no result {}", number));
  return reply.results[number - 1];
}

std::string identity(const StatementResult& result) {
  std::string all;
  for (const Values& values : result.rows) {
    for (const auto& one : values) all.append(one.value_or("")).append("\n");
  }
  return all;
}

std::optional<std::uint64_t> number(const Values& values, std::size_t column) {
  const auto& found = value(values, column);
  if (!found) return std::nullopt;
  const auto result = detail::parse_number<std::uint64_t>(*found);
  if (!result) refuse(fmt::format("column {} is not a whole number", column + 1));
  return result;
}

std::vector<sql::FoundRecord> records(const Reply& reply, std::span<const std::string> mutexes) {
  const StatementResult& times = statement(reply, 2);
  if (times.rows.size() != 1) refuse("it has no time");
  const SystemTime now{std::chrono::milliseconds{moment(times.rows.front(), 0)}};
  std::unordered_map<std::string_view, const Values*> by_name;
  for (const Values& values : last(reply).rows) by_name.emplace(text(values, 0), &values);
  std::vector<sql::FoundRecord> all;
  all.reserve(mutexes.size());
  for (const std::string& mutex : mutexes) {
    all.push_back({mutex, {.now = now}});
    sql::FoundRecord& one = all.back();
    const auto found = by_name.find(mutex);
    if (found == by_name.end()) continue;
    one.record.version = present_number(*found->second, 1);
    one.record.text = text(*found->second, 2);
  }
  return all;
}

MutexRecord record(const StatementResult& result) {
  if (result.rows.size() != 1) refuse("it has no record");
  const Values& values = result.rows.front();
  MutexRecord found{.now = SystemTime{std::chrono::milliseconds{moment(values, 2)}}};
  if (const auto version = number(values, 0)) {
    found.version = *version;
    found.text = text(values, 1);
  }
  return found;
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

std::vector<sql::Row> with_refusals(std::vector<sql::Row> rows, const std::vector<sql::Row>& before,
                                    std::uint64_t affected, sql::Change change,
                                    std::span<const sql::Ask> asks) {
  std::unordered_map<std::string_view, FencingToken> versions;
  for (const sql::Row& row : before) versions.emplace(row.mutex, row.version);
  std::unordered_map<std::string_view, const sql::Ask*> by_name;
  for (const sql::Ask& ask : asks) by_name.emplace(ask.mutex, &ask);
  const auto ask_of = [&](const sql::Row& row) -> const sql::Ask& {
    return *by_name.at(row.mutex);
  };
  const auto grew = [&](const sql::Row& row) {
    const auto was = versions.find(row.mutex);
    return row.owner_id == ask_of(row).contender_id &&
           (was == versions.end() || was->second < row.version);
  };
  const auto grown = static_cast<std::uint64_t>(std::count_if(rows.begin(), rows.end(), grew));
  for (sql::Row& row : rows) {
    const sql::Ask& ask = ask_of(row);
    if (!ask.version || row.owner_id != ask.contender_id) continue;
    const bool done =
        affected > 0 && grew(row) &&
        (change == sql::Change::acquire ? affected >= grown : row.version <= *ask.version + 1);
    row.refused = !done;
  }
  return rows;
}

}  // namespace simba::mysql::answer
