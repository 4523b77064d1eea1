// Feeds answers to the examination of a MySQL or MariaDB server. The input is the answers in turn,
// a line for each row, a tab between values, "\N" for NULL, and an empty line between answers; the
// last one is repeated. An answer that begins with '!' is a refusal: its number, then its text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.hpp"
#include "mysql/admin/examination.hpp"
#include "mysql/settings.hpp"
#include "simba/core/error.hpp"
#include "simba/core/secret.hpp"

namespace simba::mysql {
namespace {

using fuzz::check;

constexpr std::string_view secret = "hunter2";

void add_line(Reply& reply, std::string_view line) {
  if (line.starts_with('!')) {
    Refusal refusal;
    std::size_t at = 1;
    for (; at < std::min<std::size_t>(line.size(), 5) && line[at] >= '0' && line[at] <= '9'; ++at) {
      refusal.code = refusal.code * 10 + static_cast<unsigned>(line[at] - '0');
    }
    refusal.message = line.substr(at);
    reply.refusal = refusal;
    return;
  }
  if (reply.results.empty()) reply.results.emplace_back();
  auto& row = reply.results.front().rows.emplace_back();
  for (const std::string_view value : fuzz::split(line, '\t')) {
    if (value == "\\N") {
      row.emplace_back();
    } else {
      row.emplace_back(std::string{value});
    }
  }
}

std::vector<Reply> answers_in(std::string_view text) {
  std::vector<Reply> answers(1);
  for (const std::string_view line : fuzz::split(text, '\n')) {
    if (line.empty()) {
      answers.emplace_back();
    } else {
      add_line(answers.back(), line);
    }
  }
  return answers;
}

const Settings& any_settings() {
  static const Settings settings{[] {
    MySqlOptions options;
    options.host = "127.0.0.1";
    options.user = "user";
    options.password = Secret{std::string{secret}};
    options.database = "simba";
    return options;
  }()};
  return settings;
}

void check_report(const engine::StoreReport& report) {
  check(fuzz::prints(report.server) && report.server.size() <= detail::longest_excerpt + 40,
        "what the server calls itself can be shown");
  check(!report.server_time || *report.server_time >= StoreTime{}, "no time is before the epoch");
  for (const engine::Finding& finding : report.findings) {
    check(fuzz::prints(finding.text) && finding.text.size() <= 2'003, "a finding can be shown");
  }
}

void run_mysql_inspector(std::string_view text) {
  const std::vector<Reply> answers = answers_in(text);
  for (const bool mariadb : {false, true}) {
    std::size_t asked = 0;
    const Examination examination{
        any_settings(), {.mariadb = mariadb}, [&](std::string_view /*statement*/) {
          return answers[std::min(asked++, answers.size() - 1)];
        }};
    try {
      check_report(examination.run());
    } catch (const Error& error) {
      check(fuzz::stays_on_its_line(error.what()), "a refusal is one line");
    }
  }
}

}  // namespace
}  // namespace simba::mysql

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::mysql::run_mysql_inspector({reinterpret_cast<const char*>(data), size});
  return 0;
}
