#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "simba/core/time.hpp"
#include "simba/engine/lease_store.hpp"
#include "sql/database.hpp"
#include "sql/workers/request_queue.hpp"

namespace simba::sql {

/// What a store knows of the rows that its contenders own, to tell them from namesakes: contenders
/// of other processes that use the same id.
///
/// The version of a row grows by one with each change. Every renewal names the version that we were
/// told last, and does nothing where the row has a greater one. Hence of all renewals that name the
/// same version at most one is carried out, and none of them once the row was acquired again, by
/// whomever: nothing that a dead process had under way touches the row of its next life. A row that
/// is ours has the version that we were told last or, where the outcome of a renewal under that
/// version is unknown, the next one. A renewal that finds the latter has changed nothing, but knows
/// the version again. An acquisition takes nothing over unless it is told to.
///
/// A namesake may have taken the row over in that one step. Then both know the same version, and
/// the first renewal of either tells the other.
///
/// An acquisition whose outcome is unknown may be carried out late, so for two leases it explains a
/// row of which nothing else is known. A release never relies on it where we own under a version
/// that we were told: it would end the ownership of a namesake.
///
/// Threads: every function may be called from any thread at the same time.
class Claims {
 public:
  /// A request is about to be sent: under which version its row may be changed.
  std::optional<FencingToken> sending(Change change, const engine::LeaseRequest& request,
                                      FencingToken token, LocalTime now);

  /// A request that was sent with `version` was answered, `answer` being what `result` says.
  engine::LeaseAnswer answered(Change change, const engine::LeaseRequest& request,
                               std::optional<FencingToken> version,
                               const Result<std::optional<Row>>& result, engine::LeaseAnswer answer,
                               LocalTime now);

  /// The versions under which a row is the contender's that got `token` with its present ownership
  /// or a renewal of it. Just `token` where nothing is known of that ownership.
  struct Versions {
    FencingToken least = 0;
    FencingToken greatest = 0;
    bool operator==(const Versions&) const = default;
  };
  Versions grown_from(const RecordOwner& owner, const std::string& mutex) const;

  /// How many contenders it remembers something of.
  std::size_t size() const;

 private:
  using Key = std::tuple<std::string, std::string, std::uint64_t>;  // mutex, contender, instance

  struct Claim {
    FencingToken known = 0;       // the newest version of ours that we were told; 0: none
    FencingToken first = 0;       // the version of the acquisition that `known` grew out of
    std::uint64_t renewals = 0;   // under `known`, not known to have done nothing
    bool asks = false;            // has asked for the mutex since it was told `known`
    std::uint64_t acquiring = 0;  // acquisitions that are not known to have done nothing
    std::uint64_t in_flight = 0;  // renewals and acquisitions without any answer
    LocalTime until{};            // whatever they got is over then
    LocalTime acquired_until{};   // the same of the acquisitions alone

    FencingToken explained() const noexcept { return known + (renewals > 0 ? 1 : 0); }
    void learn(Change change, FencingToken version) noexcept;
    void lost(FencingToken version) noexcept;
    void settle(Change change, std::optional<FencingToken> version, const Error* error) noexcept;
    bool is_empty() const noexcept { return known == 0 && acquiring == 0 && in_flight == 0; }
  };

  static engine::LeaseAnswer judge(Claim& claim, Change change, const engine::LeaseRequest& request,
                                   engine::LeaseRecord record, bool refused);
  void sweep(LocalTime now);

  static constexpr std::size_t few = 1'000;

  mutable std::mutex mutex_;
  std::map<Key, Claim> claims_;  // guarded by mutex_
  std::size_t sweep_at_ = few;   // guarded by mutex_
};

}  // namespace simba::sql
