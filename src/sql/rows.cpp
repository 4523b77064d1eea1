#include "sql/rows.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace simba::sql {
namespace {

using std::chrono::milliseconds;

/// Past every lease, and far from where the local clock would overflow.
constexpr milliseconds longest_span = std::chrono::hours{24 * 365};

milliseconds left(std::int64_t until, std::int64_t now) {
  if (until <= now) return milliseconds::zero();
  const auto span = static_cast<std::uint64_t>(until) - static_cast<std::uint64_t>(now);
  return milliseconds{
      static_cast<std::int64_t>(std::min(span, static_cast<std::uint64_t>(longest_span.count())))};
}

StoreTime moment(std::int64_t at) { return StoreTime{milliseconds{std::max<std::int64_t>(at, 0)}}; }

}  // namespace

engine::LeaseRecord record_of(const Row& row) {
  engine::LeaseRecord record;
  record.fencing_token = row.version;
  record.store_time = moment(row.now);
  if (!row.owner_id.empty() && row.transition_at >= row.now) {
    record.owner_id = row.owner_id;
    record.lease = {.acquired_at = moment(row.acquired_at),
                    .ttl_at = moment(row.ttl_at),
                    .transition_at = moment(row.transition_at)};
    record.transition_left = left(row.transition_at, row.now);
    record.ttl_left = std::min(left(row.ttl_at, row.now), record.transition_left);
  }
  return record;
}

bool refuses(const Row& unchanged, Change change, const Ask& ask) noexcept {
  const bool owned =
      unchanged.owner_id == ask.contender_id && unchanged.transition_at >= unchanged.now;
  if (!ask.version || !owned || change == Change::release) return false;
  return change == Change::acquire || unchanged.version > *ask.version;
}

bool owns(const RecordAsk& ask, const Row& row) noexcept {
  if (!ask.owner) return true;
  return row.owner_id == ask.owner->contender_id && row.transition_at >= row.now &&
         row.version >= ask.owner->least && row.version <= ask.owner->greatest;
}

RecordAnswer::Outcome outcome_of(const RecordAsk& ask, bool owned,
                                 const MutexRecord& found) noexcept {
  using Outcome = RecordAnswer::Outcome;
  if (!owned) return Outcome::not_owned;
  if (found.version != ask.replaces) return Outcome::changed;
  if (ask.not_before && found.now < *ask.not_before) return Outcome::too_early;
  return Outcome::written;
}

}  // namespace simba::sql
