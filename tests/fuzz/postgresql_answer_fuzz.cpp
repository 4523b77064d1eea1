// Feeds texts to all that reads answers of PostgreSQL. The input is a table: a line for each row, a
// tab between values, "\N" for NULL; the whole of it is also an error text, and its lines are
// names.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <libpq-fe.h>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.hpp"
#include "postgresql/errors.hpp"
#include "postgresql/values.hpp"
#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

using fuzz::check;

using Result = std::unique_ptr<PGresult, void (*)(PGresult*)>;
using Table = std::vector<std::vector<std::string_view>>;

constexpr std::string_view null = "\\N";
constexpr std::size_t most_rows = 8;

Table table_of(std::string_view text) {
  Table table;
  for (const std::string_view line : fuzz::split(text, '\n')) {
    table.push_back(fuzz::split(line, '\t'));
  }
  return table;
}

/// As wide as the first row; what is missing is NULL.
Result result_of(const Table& table) {
  const std::size_t columns = table.front().size();
  Result result{PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK), PQclear};
  std::string name = "c";
  std::vector<PGresAttDesc> attributes(columns);
  for (PGresAttDesc& attribute : attributes) {
    attribute = PGresAttDesc{name.data(), 0, 0, 0, 0, -1, -1};
  }
  PQsetResultAttrs(result.get(), static_cast<int>(columns), attributes.data());
  for (std::size_t row = 0; row < table.size(); ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const bool absent = column >= table[row].size() || table[row][column] == null;
      std::string value{absent ? std::string_view{} : table[row][column]};
      PQsetvalue(result.get(), static_cast<int>(row), static_cast<int>(column),
                 absent ? nullptr : value.data(), absent ? -1 : static_cast<int>(value.size()));
    }
  }
  return result;
}

/// An exception other than Error is a find.
void check_rows(const Table& table) {
  const Result result = result_of(table);
  try {
    const auto rows = rows_of(result.get(), most_rows, "PostgreSQL");
    check(rows.size() == table.size() && rows.size() <= most_rows, "no row is lost or made up");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& values = table[i];
      check(values.size() >= 7, "a row has all columns");
      check(rows[i].mutex == values[0] && rows[i].owner_id == values[1], "texts are kept");
      // A number is written as it is read, but for zeroes in front of it.
      const auto same = [](std::string number, std::string_view text) {
        const bool negative = text.starts_with('-');
        if (negative) text.remove_prefix(1);
        while (text.size() > 1 && text.front() == '0') text.remove_prefix(1);
        return number == (negative && text != "0" ? "-" : "") + std::string{text};
      };
      check(same(std::to_string(rows[i].acquired_at), values[2]) &&
                same(std::to_string(rows[i].ttl_at), values[3]) &&
                same(std::to_string(rows[i].transition_at), values[4]) &&
                same(std::to_string(rows[i].version), values[5]) &&
                same(std::to_string(rows[i].now), values[6]),
            "a number is the one that was written");
    }
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::internal, "an answer that makes no sense is internal");
    check(fuzz::prints(error.what()), "a refusal prints");
  }
}

void check_errors(std::string_view text) {
  const std::string line = one_line(text);
  check(fuzz::stays_on_its_line(line) && line.size() <= 303, "an error is one short line");
  const std::string_view state = sql_state_in(text);
  check(state.empty() || state.size() == 5, "a state has five characters");
  check(state.empty() || text.find(state) != std::string_view::npos, "a state is of the text");
  kind_of(state);
  kind_of(text);
}

/// Reads an array literal as a server does: elements in quotation marks.
std::vector<std::string> elements_of(std::string_view literal) {
  check(literal.size() >= 2 && literal.front() == '{' && literal.back() == '}', "it is an array");
  std::vector<std::string> elements;
  std::size_t at = 1;
  while (at + 1 < literal.size()) {
    check(literal[at] == '"', "an element is quoted");
    std::string element;
    for (++at; at < literal.size() && literal[at] != '"'; ++at) {
      if (literal[at] == '\\') ++at;
      check(at < literal.size(), "an escape is complete");
      element += literal[at];
    }
    check(at < literal.size(), "a quotation is closed");
    elements.push_back(std::move(element));
    ++at;
    check(literal[at] == ',' || at + 1 == literal.size(), "elements have commas between");
    if (literal[at] == ',') ++at;
  }
  return elements;
}

void check_array(std::string_view text) {
  const auto names = fuzz::split(text, '\n');
  ArrayLiteral literal;
  try {
    for (const std::string_view name : names) literal.add(name);
  } catch (const InvalidArgumentError&) {
    check(text.find('\0') != std::string_view::npos, "only a NUL is refused");
    return;
  }
  const auto elements = elements_of(std::move(literal).take());
  check(std::equal(names.begin(), names.end(), elements.begin(), elements.end()),
        "a server reads the names that were given");
}

void run_postgresql_answer(std::string_view text) {
  // The interface of libpq takes no NUL inside a value of text, nor does the server send one.
  if (text.find('\0') == std::string_view::npos) {
    check_rows(table_of(text));
    check_errors(text);
  }
  check_array(text);
}

}  // namespace
}  // namespace simba::postgresql

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::postgresql::run_postgresql_answer({reinterpret_cast<const char*>(data), size});
  return 0;
}
