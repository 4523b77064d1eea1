// Feeds answers to the examination of a PostgreSQL server. The input is the answers in turn, a line
// for each row, a tab between values, and an empty line between answers; the last one is repeated.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.hpp"
#include "postgresql/admin/examination.hpp"
#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

using fuzz::check;

std::vector<TableText> answers_in(std::string_view text) {
  std::vector<TableText> answers(1);
  for (const std::string_view line : fuzz::split(text, '\n')) {
    if (line.empty()) {
      answers.emplace_back();
      continue;
    }
    auto& row = answers.back().emplace_back();
    for (const std::string_view value : fuzz::split(line, '\t')) row.emplace_back(value);
  }
  return answers;
}

void run_postgresql_inspector(std::string_view text) {
  const std::vector<TableText> answers = answers_in(text);
  std::size_t asked = 0;
  const Examination examination{
      {.name = "PostgreSQL at db", .user = "app", .database = "app", .version = 150'000},
      [&](const char* /*statement*/) { return answers[std::min(asked++, answers.size() - 1)]; }};
  try {
    const engine::StoreReport report = examination.run();
    check(fuzz::prints(report.server) && report.server.size() <= detail::longest_excerpt + 40,
          "what the server calls itself can be shown");
    check(!report.server_time || *report.server_time >= StoreTime{}, "no time is before the epoch");
    for (const engine::Finding& finding : report.findings) {
      check(fuzz::prints(finding.text) && finding.text.size() <= 2'003, "a finding can be shown");
    }
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::internal, "an answer that makes no sense is internal");
    check(fuzz::prints(error.what()), "a refusal prints");
  }
}

}  // namespace
}  // namespace simba::postgresql

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::postgresql::run_postgresql_inspector({reinterpret_cast<const char*>(data), size});
  return 0;
}
