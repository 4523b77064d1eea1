#include "redis/admin/admin_answers.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <utility>

#include "redis/protocol/lease_answer.hpp"
#include "redis/protocol/printable.hpp"
#include "redis/protocol/server_error.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using engine::LeaseRecord;
using engine::LeaseRequest;
using engine::MutexEntry;
using std::chrono::milliseconds;

/// Longer than any lease that an answer tells, so it stands for a key without an expiry.
constexpr milliseconds without_end = std::chrono::hours{24 * 1'000};

/// The number that a text begins with; zero where it begins with none.
template <typename Number>
Number leading_number(std::string_view text) {
  Number value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::string value_in(std::string_view info, std::string_view key) {
  while (!info.empty()) {
    const auto end = std::min(info.find('\n'), info.size());
    std::string_view line = info.substr(0, end);
    info.remove_prefix(std::min(end + 1, info.size()));
    if (line.size() <= key.size() || !line.starts_with(key) || line[key.size()] != ':') continue;
    line.remove_prefix(key.size() + 1);
    while (line.ends_with('\r')) line.remove_suffix(1);
    return printable(line);
  }
  return {};
}

bool is_too_old(std::string_view version) {
  const std::size_t dot = version.find('.');
  const auto major = leading_number<unsigned>(version);
  const auto minor =
      dot == std::string_view::npos ? 0U : leading_number<unsigned>(version.substr(dot + 1));
  return std::pair{major, minor} < std::pair{6U, 2U};
}

std::optional<StoreTime> server_time(const Reply& reply) {
  constexpr std::int64_t end_of_time = 253'402'300'800;  // the year 10000, in seconds
  constexpr std::int64_t one_second = 1'000'000;
  if (reply.elements.size() != 2) return std::nullopt;
  const auto seconds = leading_number<std::int64_t>(reply.elements[0].text);
  const auto microseconds = leading_number<std::int64_t>(reply.elements[1].text);
  if (seconds <= 0 || seconds >= end_of_time) return std::nullopt;
  if (microseconds < 0 || microseconds >= one_second) return std::nullopt;
  return StoreTime{milliseconds{seconds * 1'000 + microseconds / 1'000}};
}

std::string_view mutex_of(std::string_view key) {
  constexpr std::string_view begin = "simba:{";
  for (const std::string_view end : {"}:fence", "}"}) {
    if (key.size() > begin.size() + end.size() && key.starts_with(begin) && key.ends_with(end)) {
      return key.substr(begin.size(), key.size() - begin.size() - end.size());
    }
  }
  return {};
}

LeaseRecord record_in(const Reply& reply, const std::string& mutex) {
  if (reply.is(Reply::Type::error)) throw to_error(parse_server_error(reply.text), "Redis");
  const LeaseRequest request{.mutex = mutex, .contender_id = {}, .ttl = without_end};
  const auto answer = parse_lease_answer(reply, request);
  if (answer.error() != nullptr) throw Error{*answer.error()};
  return *answer.record();
}

MutexEntry entry_in(std::span<const Reply, 2> replies, const std::string& mutex) {
  const LeaseRecord record = record_in(replies[0], mutex);
  MutexEntry entry{.mutex = mutex,
                   .owner_id = record.owner_id,
                   .fencing_token = record.fencing_token,
                   .left = record.transition_left};
  if (record.transition_left == without_end) {
    entry.left.reset();
  } else if (record.fencing_token != 0) {
    entry.acquired_at = record.lease.acquired_at;
  }
  if (record.owner_id.empty()) entry.fencing_token = leading_number<FencingToken>(replies[1].text);
  return entry;
}

}  // namespace simba::redis
