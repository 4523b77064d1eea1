#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace simba::chaos {

/// What the faults of one kind came to. Times are milliseconds without an owner, the longer of both
/// mutexes.
struct KindResult {
  std::string name{};
  std::int64_t count = 0;
  std::int64_t median = 0;
  std::int64_t longest = 0;  ///< after its end
  std::int64_t bound = 0;
  std::int64_t during = never_alone;  ///< longest from within it on, with no other beside it
  std::int64_t during_bound = 0;      ///< 0: there is none

  static constexpr std::int64_t never_alone = -1;
};

/// What a round on one store came to.
struct StoreResult {
  std::string store{};
  std::uint64_t seed = 0;
  std::int64_t seconds = 0;
  std::int64_t contenders = 0;  ///< processes at a time
  std::int64_t processes = 0;   ///< in all
  std::int64_t ownerships = 0;
  std::int64_t faults = 0;
  std::int64_t overlaps = 0;
  std::int64_t excused = 0;          ///< overlaps, excused by a failover shortly before
  std::int64_t longest_overlap = 0;  ///< milliseconds, rounded up
  std::int64_t tokens = 0;           ///< out of order
  std::int64_t callbacks = 0;        ///< that did not alternate, or came when they must not
  std::int64_t updates = 0;
  std::int64_t refused = 0;
  std::int64_t lost = 0;
  std::int64_t jvm = 0;             ///< contenders of the JVM library at a time
  std::int64_t jvm_ownerships = 0;  ///< of theirs, beside those of ours
  std::int64_t beliefs = 0;         ///< see find_beliefs
  std::int64_t longest_belief = 0;  ///< milliseconds, rounded up
  std::int64_t slots = 0;           ///< of shared schedules: begun
  std::int64_t slot_attempts = 0;   ///< begun by workers
  std::int64_t slots_failed = 0;    ///< attempts
  std::int64_t slots_lost = 0;      ///< attempts that ended without a word
  std::int64_t slots_missed = 0;    ///< that did not happen
  std::int64_t slots_refused = 0;   ///< attempts, by their token
  std::int64_t slots_wrong = 0;     ///< what was not as promised
  std::int64_t slots_excused = 0;   ///< ends that a failover has lost, and two runs after it
  std::int64_t longest = 0;         ///< milliseconds without an owner after a fault
  std::int64_t longest_gap = 0;     ///< milliseconds without an owner, also while a fault lasted
  std::int64_t bound = 0;
  std::int64_t two_owners_possible = 0;  ///< 1: at a failover, as is documented
  std::int64_t interrupted = 0;          ///< 1: not run to its end
  std::string bound_text{};
  std::string notes{};
  std::string skipped{};                ///< why it was not run; empty: it was
  std::vector<std::string> problems{};  ///< what else went wrong
  std::vector<std::string> details{};   ///< of everything that is counted above as wrong
  std::vector<KindResult> kinds{};

  /// Whether a promise was broken, or none was put to the test: a round that ran to its end without
  /// an ownership, an update, a slot or a fault shows nothing.
  bool broken() const noexcept;

  /// Whether one of safety was.
  bool unsafe() const noexcept;
};

/// As text, for the process that started the round.
std::string to_text(const StoreResult& result);

/// The inverse. Throws std::runtime_error where the text is none.
StoreResult parse_result(const std::string& text);

}  // namespace simba::chaos
