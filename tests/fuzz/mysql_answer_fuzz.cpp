// Feeds texts to all that reads answers of MySQL and MariaDB. The input is a table: a line for each
// row, a tab between values, "\N" for NULL. The first line is also an error text after its number.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.hpp"
#include "mysql/answer.hpp"
#include "mysql/errors.hpp"
#include "mysql/settings.hpp"
#include "simba/core/error.hpp"
#include "simba/core/secret.hpp"

namespace simba::mysql {
namespace {

using fuzz::check;

StatementResult result_of(std::string_view text) {
  StatementResult result;
  for (const std::string_view line : fuzz::split(text, '\n')) {
    auto& row = result.rows.emplace_back();
    for (const std::string_view value : fuzz::split(line, '\t')) {
      if (value == "\\N") {
        row.emplace_back();
      } else {
        row.emplace_back(std::string{value});
      }
    }
  }
  result.columns = result.rows.front().size();
  return result;
}

void check_row(const sql::Row& row, const std::vector<StatementResult::Value>& values) {
  constexpr auto latest = std::numeric_limits<std::int64_t>::max() / 4;
  check(values.size() >= 7, "a row has all columns");
  for (std::size_t i = 0; i < 7; ++i) check(values[i].has_value(), "a row has no NULL");
  check(row.mutex == *values[0] && row.owner_id == *values[1], "texts are kept");
  for (const std::int64_t moment : {row.acquired_at, row.ttl_at, row.transition_at, row.now}) {
    check(moment >= 0 && moment <= latest, "a moment is within its bounds");
  }
  check(row.version == answer::number(values, 5), "a version is not changed");
}

/// An exception other than Error is a find.
void check_rows(const StatementResult& result) {
  try {
    const auto rows = answer::rows(result);
    check(rows.size() == result.rows.size(), "no row is lost or made up");
    for (std::size_t i = 0; i < rows.size(); ++i) check_row(rows[i], result.rows[i]);
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::internal, "an answer that makes no sense is internal");
    check(fuzz::prints(error.what()), "a refusal prints");
  }
  try {
    for (const auto& values : result.rows) answer::number(values, 0);
    check(answer::last(Reply{.results = {result}}).columns == result.columns, "it is the last one");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::internal, "an answer that makes no sense is internal");
  }
}

void check_errors(std::string_view text) {
  static const Settings settings{[] {
    MySqlOptions options;
    options.host = "127.0.0.1";
    options.user = "user";
    options.password = Secret{"hunter2"};
    options.database = "simba";
    return options;
  }()};
  Refusal refusal;
  std::size_t digits = 0;
  for (;
       digits < std::min<std::size_t>(text.size(), 4) && text[digits] >= '0' && text[digits] <= '9';
       ++digits) {
    refusal.code = refusal.code * 10 + static_cast<unsigned>(text[digits] - '0');
  }
  refusal.message = text.substr(digits);
  if (refusal.message.find("hunter2") != std::string::npos) return;
  breaks_connection(refusal);
  calls_for_another(refusal);
  for (const Phase phase : {Phase::connecting, Phase::asking, Phase::changed}) {
    const Error error = to_error(settings, refusal, phase);
    const std::string_view message = error.what();
    check(fuzz::stays_on_its_line(message) && message.size() <= 900, "an error is one short line");
    check(message.find("hunter2") == std::string_view::npos, "a password is never shown");
  }
  check(fuzz::stays_on_its_line(creation_error(settings, refusal, "mysql.sql").what()),
        "an error is one line");
}

void run_mysql_answer(std::string_view text) {
  check_rows(result_of(text));
  check_errors(text);
}

}  // namespace
}  // namespace simba::mysql

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::mysql::run_mysql_answer({reinterpret_cast<const char*>(data), size});
  return 0;
}
