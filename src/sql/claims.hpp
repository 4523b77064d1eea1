#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "simba/engine/lease_store.hpp"
#include "sql/database.hpp"
#include "sql/workers/request_queue.hpp"

namespace simba::sql {

/// What a store knows of the rows that its contenders own, to tell them from namesakes: contenders
/// of other processes that use the same id.
///
/// The version of a row grows by one with each change. So a row that is ours has the version that
/// we were told last, or one that our own requests explain: those whose answer has not come, or
/// never will. Each of them explains one step. A renewal names the greatest version that can be
/// explained, hence it never touches the row of a namesake, and one that is carried out late does
/// nothing where a later one was answered. An acquisition takes nothing over unless it is told to.
///
/// Threads: every function may be called from any thread at the same time.
class Claims {
 public:
  /// A request is about to be sent: under which version its row may be changed.
  std::optional<FencingToken> sending(Change change, const engine::LeaseRequest& request,
                                      FencingToken token);

  /// It was answered, `answer` being what `result` says.
  engine::LeaseAnswer answered(Change change, const engine::LeaseRequest& request,
                               const Result<std::optional<Row>>& result,
                               engine::LeaseAnswer answer);

  /// The store ends its connections.
  void forget_all();

 private:
  using Key = std::tuple<std::string, std::string, std::uint64_t>;  // mutex, contender, instance

  struct Claim {
    FencingToken known = 0;       // the newest version of ours that we were told
    FencingToken bound = 0;       // the greatest that a renewal was sent with
    std::uint64_t renewals = 0;   // without an answer that says what became of them
    std::uint64_t acquiring = 0;  // the same of acquisitions

    FencingToken explained() const noexcept { return known + renewals; }
  };

  static void renewed(Claim& claim, FencingToken version);
  static void forget_what_cannot_be(Claim& claim);
  static engine::LeaseAnswer not_ours(const engine::LeaseRequest& request,
                                      const engine::LeaseAnswer& answer);
  static engine::LeaseAnswer not_explained(Claim& claim, engine::LeaseRecord record);

  std::mutex mutex_;
  std::map<Key, Claim> claims_;  // guarded by mutex_
};

}  // namespace simba::sql
