#include "sql/claims.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

namespace simba::sql {

using engine::LeaseAnswer;
using engine::LeaseRecord;
using engine::LeaseRequest;

std::optional<FencingToken> Claims::sending(Change change, const LeaseRequest& request,
                                            FencingToken token) {
  if (change == Change::release) return token;
  if (request.instance == 0) return std::nullopt;
  const Key key{request.mutex, request.contender_id, request.instance};
  const std::lock_guard lock{mutex_};
  if (change == Change::acquire) {
    constexpr std::size_t most = 10'000;  // of doubts that nobody will settle any more
    if (claims_.size() > most) {
      std::erase_if(claims_, [](const auto& claim) { return claim.second.known == 0; });
    }
    ++claims_[key].acquiring;
    return request.takes_over;
  }
  const auto found = claims_.find(key);
  if (found == claims_.end() || found->second.known == 0) return std::nullopt;
  Claim& claim = found->second;
  claim.bound = std::max(claim.bound, claim.explained());
  return claim.known + claim.renewals++;
}

// Answers may overtake each other, so what is known only grows.
LeaseAnswer Claims::answered(Change change, const LeaseRequest& request,
                             const Result<std::optional<Row>>& result, LeaseAnswer answer) {
  if (request.instance == 0) return answer;
  const std::lock_guard lock{mutex_};
  const auto found = claims_.find({request.mutex, request.contender_id, request.instance});
  const auto* const row = std::get_if<std::optional<Row>>(&result);
  const bool refused = row != nullptr && *row && (*row)->refused;
  if (found == claims_.end()) {
    // Forgotten. What was refused is not ours in any case.
    return change == Change::release || refused ? not_ours(request, answer) : answer;
  }
  Claim& claim = found->second;
  const Error* error = answer.error();
  if (error == nullptr || (!error->in_doubt() && error->kind() != ErrorKind::internal)) {
    std::uint64_t& open = change == Change::acquire ? claim.acquiring : claim.renewals;
    if (change != Change::release && open > 0) --open;
  }
  if (error != nullptr) return answer;
  LeaseRecord record = *answer.record();
  const bool names_it = record.owner_id == request.contender_id;
  switch (change) {
    case Change::acquire:
      record.namesake = names_it && refused;
      if (names_it && !refused && record.fencing_token > claim.known) {
        claim.known = record.fencing_token;
        forget_what_cannot_be(claim);
      }
      return record;
    case Change::guard:
      if (names_it && !refused) renewed(claim, record.fencing_token);
      if (names_it && refused && record.fencing_token > claim.explained()) {
        return not_explained(claim, std::move(record));
      }
      return record;
    case Change::release:
      break;
  }
  if (names_it && record.fencing_token <= claim.explained()) return record;
  if (names_it && claim.acquiring > 0) return record;
  if (record.fencing_token >= claim.known) {
    claim.known = 0;
    if (claim.acquiring == 0) claims_.erase(found);
  }
  return not_ours(request, answer);
}

// Nothing that it has asked for can have made the contender the owner.
LeaseAnswer Claims::not_ours(const LeaseRequest& request, const LeaseAnswer& answer) {
  if (answer.record() == nullptr) return answer;
  LeaseRecord record = *answer.record();
  record.namesake = record.owner_id == request.contender_id;
  return record;
}

// One by one: that renewal itself, and before it those of unknown outcome.
void Claims::renewed(Claim& claim, FencingToken version) {
  if (version <= claim.known) return;
  const std::uint64_t others = version - claim.known - 1;
  claim.known = version;
  claim.renewals -= std::min(claim.renewals, others);
  forget_what_cannot_be(claim);
}

// A renewal of unknown outcome, also one of an earlier ownership, can be carried out only while the
// version is not beyond what it was sent with.
void Claims::forget_what_cannot_be(Claim& claim) {
  const std::uint64_t room = claim.bound >= claim.known ? claim.bound - claim.known + 1 : 0;
  claim.renewals = std::min(claim.renewals, room);
}

// An acquisition of ours that was carried out late would explain it, where the mutex was taken from
// us before: then it is lost, and no namesake is to blame.
LeaseAnswer Claims::not_explained(Claim& claim, LeaseRecord record) {
  if (claim.acquiring > 0) {
    --claim.acquiring;
    return LeaseRecord{};
  }
  record.namesake = true;
  return record;
}

void Claims::forget_all() {
  const std::lock_guard lock{mutex_};
  claims_.clear();
}

}  // namespace simba::sql
