#include "redis/protocol/record_answer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"

namespace simba::redis {
namespace {

using Outcome = RecordAnswer::Outcome;

constexpr std::array<std::pair<std::string_view, Outcome>, 5> outcomes{{
    {"found", Outcome::found},
    {"written", Outcome::written},
    {"changed", Outcome::changed},
    {"not_owned", Outcome::not_owned},
    {"too_early", Outcome::too_early},
}};

Error not_of_records() {
  return Error{ErrorKind::internal,
               "Redis sent an unexpected reply to the script for records; does this server or "
               "proxy support Lua scripts?"};
}

}  // namespace

RecordResult parse_record_answer(const Reply& reply) {
  const auto& parts = reply.elements;
  if (!reply.is(Reply::Type::array) || parts.size() != 4 || !parts[0].is(Reply::Type::string) ||
      !parts[1].is(Reply::Type::string) || !parts[2].is(Reply::Type::string) ||
      !parts[3].is(Reply::Type::integer)) {
    return not_of_records();
  }
  const auto* const outcome =
      std::find_if(outcomes.begin(), outcomes.end(),
                   [&](const auto& entry) { return entry.first == parts[0].text; });
  constexpr std::int64_t end_of_time = 253'402'300'800'000;  // the year 10000
  const std::int64_t now = parts[3].integer;
  if (outcome == outcomes.end() || now < 0 || now > end_of_time) return not_of_records();
  const auto version = detail::parse_number<std::uint64_t>(parts[1].text);
  if (!version) {
    return Error{
        ErrorKind::configuration,
        fmt::format("the version of a record in Redis is not a number (got '{}'): its key, "
                    "which begins with simba: and ends in :record, holds data that Simba "
                    "did not write; find out what writes it, and delete it with DEL",
                    detail::excerpt(parts[1].text))};
  }
  return RecordAnswer{.outcome = outcome->second,
                      .record = {.text = parts[2].text,
                                 .version = *version,
                                 .now = SystemTime{std::chrono::milliseconds{now}}}};
}

}  // namespace simba::redis
