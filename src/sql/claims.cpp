#include "sql/claims.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace simba::sql {
namespace {

using engine::LeaseAnswer;
using engine::LeaseRecord;
using engine::LeaseRequest;

/// The version by which a renewal of one that owns nothing changes nothing: a row has a greater
/// one.
constexpr FencingToken nothing_owned = 0;

/// Nothing that it has asked for can have made the contender the owner.
LeaseRecord not_ours(const LeaseRequest& request, LeaseRecord record) {
  record.namesake = record.owner_id == request.contender_id;
  return record;
}

}  // namespace

std::optional<FencingToken> Claims::sending(Change change, const LeaseRequest& request,
                                            FencingToken token, LocalTime now) {
  if (change == Change::release) return token;
  if (request.instance == 0) return std::nullopt;
  const Key key{request.mutex, request.contender_id, request.instance};
  const std::lock_guard lock{mutex_};
  auto found = claims_.find(key);
  if (change == Change::acquire && found == claims_.end()) {
    sweep(now);
    found = claims_.try_emplace(key).first;
  }
  if (found == claims_.end()) return nothing_owned;
  Claim& claim = found->second;
  ++claim.in_flight;
  // A statement may be carried out a lease late, and what it gets lasts another one.
  claim.until = std::max(claim.until, now + 2 * (request.ttl + request.transition));
  if (change == Change::acquire) {
    claim.asks = true;
    ++claim.acquiring;
    claim.acquired_until = claim.until;
    return request.takes_over;
  }
  if (claim.known == 0) return nothing_owned;
  ++claim.renewals;
  return claim.known;
}

LeaseAnswer Claims::answered(Change change, const LeaseRequest& request,
                             std::optional<FencingToken> version,
                             const Result<std::optional<Row>>& result, LeaseAnswer answer,
                             LocalTime now) {
  if (request.instance == 0) return answer;
  const auto* const row = std::get_if<std::optional<Row>>(&result);
  const bool refused = row != nullptr && *row && (*row)->refused;
  const std::lock_guard lock{mutex_};
  const auto found = claims_.find({request.mutex, request.contender_id, request.instance});
  if (found == claims_.end()) {
    // Forgotten. What was refused is not ours in any case.
    if (answer.record() == nullptr || (change != Change::release && !refused)) return answer;
    return not_ours(request, *answer.record());
  }
  Claim& claim = found->second;
  claim.settle(change, version, answer.error());
  if (claim.in_flight == 0 && claim.acquired_until < now) claim.acquiring = 0;
  if (answer.record() != nullptr) {
    answer = judge(claim, change, request, *answer.record(), refused);
  }
  if (claim.is_empty()) claims_.erase(found);
  return answer;
}

LeaseAnswer Claims::judge(Claim& claim, Change change, const LeaseRequest& request,
                          LeaseRecord record, bool refused) {
  const bool names_it = record.owner_id == request.contender_id;
  if (change == Change::release) {
    const bool may_be_acquired = claim.asks && claim.acquiring > 0;
    if (names_it && (record.fencing_token <= claim.explained() || may_be_acquired)) return record;
    claim.lost(record.fencing_token);
    return not_ours(request, std::move(record));
  }
  // What is explained is the work of a renewal whose answer was lost.
  const bool explained = change == Change::guard && record.fencing_token <= claim.explained();
  if (!names_it) {
    claim.lost(record.fencing_token);
  } else if (!refused || explained) {
    claim.learn(change, record.fencing_token);
  } else if (change == Change::acquire) {
    record.namesake = true;
  } else if (claim.acquiring > 0) {
    // An acquisition of ours that was carried out late would explain it, where the mutex was taken
    // from us before: then it is lost, and no namesake is to blame.
    --claim.acquiring;
    claim.lost(record.fencing_token);
    return LeaseRecord{};
  } else {
    claim.lost(record.fencing_token);
    record.namesake = true;
  }
  return record;
}

void Claims::Claim::settle(Change change, std::optional<FencingToken> version,
                           const Error* error) noexcept {
  if (change == Change::release || !version) return;
  if (in_flight > 0) --in_flight;
  if (error != nullptr && (error->in_doubt() || error->kind() == ErrorKind::internal)) return;
  if (change == Change::acquire && acquiring > 0) --acquiring;
  if (change == Change::guard && version == known && renewals > 0) --renewals;
}

/// Answers may overtake each other, so what is known only grows.
void Claims::Claim::learn(Change change, FencingToken version) noexcept {
  if (version <= known) return;
  if (change == Change::acquire) first = version;
  known = version;
  renewals = 0;
  asks = false;
}

void Claims::Claim::lost(FencingToken version) noexcept {
  if (version < known) return;
  known = 0;
  renewals = 0;
}

/// Removes what nobody asks for any more: of contenders that let their lease run out, or were
/// stopped in doubt. When twice as much is there as the last time, so that it costs each a
/// constant.
void Claims::sweep(LocalTime now) {
  if (claims_.size() < sweep_at_) return;
  std::erase_if(claims_, [now](const auto& entry) {
    return entry.second.in_flight == 0 && entry.second.until < now;
  });
  sweep_at_ = std::max(few, 2 * claims_.size());
}

Claims::Versions Claims::grown_from(const RecordOwner& owner, const std::string& mutex) const {
  const FencingToken token = owner.fencing_token;
  const std::lock_guard lock{mutex_};
  for (auto at = claims_.lower_bound({mutex, owner.contender_id, 0}); at != claims_.end(); ++at) {
    const auto& [key, claim] = *at;
    if (std::get<0>(key) != mutex || std::get<1>(key) != owner.contender_id) break;
    if (claim.known != 0 && token >= claim.first && token <= claim.explained()) {
      return {claim.known, claim.explained()};
    }
  }
  return {token, token};
}

std::size_t Claims::size() const {
  const std::lock_guard lock{mutex_};
  return claims_.size();
}

}  // namespace simba::sql
