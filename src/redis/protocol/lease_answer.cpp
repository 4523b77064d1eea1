#include "redis/protocol/lease_answer.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/text.hpp"

namespace simba::redis {
namespace {

using std::chrono::milliseconds;

/// Past every lease, and far from where a clock would overflow.
constexpr std::int64_t longest = milliseconds{std::chrono::hours{24 * 365}}.count();

template <typename Number>
std::optional<Number> number(const Reply& reply) {
  return reply.is(Reply::Type::string) ? detail::parse_number<Number>(reply.text) : std::nullopt;
}

/// A span in milliseconds; -1 stands for a key that never expires.
std::optional<milliseconds> span(const Reply& reply) {
  if (!reply.is(Reply::Type::integer) || reply.integer < -1) return std::nullopt;
  return milliseconds{std::min(reply.integer, longest)};
}

std::optional<StoreTime> moment(const Reply& seconds, const Reply& microseconds) {
  const auto s = number<std::int64_t>(seconds);
  const auto us = number<std::int64_t>(microseconds);
  constexpr std::int64_t end_of_time = 253'402'300'800;  // the year 10000
  if (!s || !us || *s < 0 || *s > end_of_time || *us < 0 || *us >= 1'000'000) return std::nullopt;
  return StoreTime{milliseconds{*s * 1'000 + *us / 1'000}};
}

Error not_an_answer() {
  return Error{ErrorKind::internal,
               "Redis sent an unexpected reply to one of Simba's scripts; does this server or "
               "proxy support Lua scripts?"};
}

}  // namespace

engine::LeaseAnswer parse_lease_answer(const Reply& reply, const engine::LeaseRequest& request) {
  const auto& parts = reply.elements;
  if (!reply.is(Reply::Type::array) || parts.size() != 8 || !parts[0].is(Reply::Type::string)) {
    return not_an_answer();
  }
  const auto token = number<FencingToken>(parts[1]);
  const auto left = span(parts[2]);
  const auto ttl = span(parts[3]);
  const auto transition = span(parts[4]);
  const auto now = moment(parts[5], parts[6]);
  const auto instance = number<std::uint64_t>(parts[7]);
  if (!token || !left || !ttl || !transition || !now || !instance) return not_an_answer();

  engine::LeaseRecord record;
  record.fencing_token = *token;
  record.store_time = *now;
  if (parts[0].text.empty()) return record;
  record.owner_id = parts[0].text;
  record.namesake = record.owner_id == request.contender_id && *instance != request.instance &&
                    *instance != 0 && request.instance != 0;
  const bool ours = *token > 0;
  milliseconds longest_left = ours ? *ttl + *transition : request.ttl + request.transition;
  if (longest_left.count() == 0) longest_left = *left;  // an observer has no lease
  // A key without an expiry was set by hand. It is looked at again when a lease would be over.
  const milliseconds lease_left =
      left->count() < 0 ? request.ttl + request.transition : std::min(*left, longest_left);
  const milliseconds grace = std::min(ours ? *transition : request.transition, lease_left);
  const milliseconds whole = ours ? *ttl + *transition : lease_left;
  record.transition_left = lease_left;
  record.ttl_left = lease_left - grace;
  record.lease.transition_at = *now + lease_left;
  record.lease.ttl_at = record.lease.transition_at - grace;
  record.lease.acquired_at = std::max(record.lease.transition_at - whole, StoreTime{});
  return record;
}

}  // namespace simba::redis
