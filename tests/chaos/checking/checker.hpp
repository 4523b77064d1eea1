#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chaos/checking/fenced_log.hpp"
#include "chaos/checking/record.hpp"

namespace simba::chaos {

/// For people to read.
inline double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

/// All that was written down about one mutex.
struct Evidence {
  std::string mutex{};
  std::vector<Record> records{};
  std::vector<FencedEntry> uses{};  ///< of what the mutex protects, in order
};

/// Two owners at the same time, for certain.
struct Overlap {
  Ownership first{};
  Ownership second{};
  std::int64_t length = 0;  ///< nanoseconds
  bool excused = false;     ///< it began at a time at which docs/guarantees.md allows it
};

/// When there may be two owners: where the second begins in one of the periods, and both own for
/// no longer than allowed, in nanoseconds. They still have different tokens, in any order. A
/// contender of the JVM library asks for no confirmation of replicas, and so may own for longer.
struct Excuses {
  std::vector<Period> periods{};
  std::int64_t longest = 0;
};

/// What is wrong with it. The moments in texts are seconds since `origin`.
struct Findings {
  std::size_t ownerships = 0;
  std::vector<Overlap> overlaps{};
  std::vector<std::string> tokens{};     ///< that did not grow from one ownership to the next
  std::vector<std::string> callbacks{};  ///< that did not alternate, or came when they must not
  std::vector<std::string> complaints{};
  std::uint64_t updates = 0;  ///< of the resource
  std::uint64_t refused = 0;  ///< by their token
  std::uint64_t lost = 0;

  /// Of contenders of the JVM library.
  std::size_t jvm_ownerships = 0;
  std::vector<Overlap> beliefs{};
};

/// All ownerships in the order in which they began; what one contender had by one token is one.
std::vector<Ownership> ownerships_of(const std::vector<Record>& records);

/// These take what `ownerships_of` gives.
std::vector<Overlap> find_overlaps(const std::vector<Ownership>& ownerships,
                                   const Excuses& excuses = {});
std::vector<std::string> find_wrong_tokens(const std::vector<Ownership>& ownerships,
                                           const std::vector<Overlap>& overlaps,
                                           std::int64_t origin);

/// Where a contender of the JVM library, the first of the two, considered itself the owner after
/// the server had let another in. That is no fault of ours: such a contender counts no time, as
/// docs/guarantees.md says.
std::vector<Overlap> find_beliefs(const std::vector<Ownership>& ownerships);

/// How long after `moment` somebody owned. Empty: nobody did any more.
std::optional<std::int64_t> time_to_owner(const std::vector<Ownership>& ownerships,
                                          std::int64_t moment);

/// The longest time in which nobody owned, of which a part lies between `begin` and `end`. What
/// came before `begin` does not count, but what came after `end` does. The last one lasts to
/// `last`.
std::int64_t longest_gap_within(const std::vector<Ownership>& ownerships, std::int64_t begin,
                                std::int64_t end, std::int64_t last);

/// The longest time between two ownerships in which nobody owned.
std::int64_t longest_gap(const std::vector<Ownership>& ownerships);

std::vector<std::string> find_wrong_callbacks(const Record& record, std::int64_t origin);

/// Calls of on_acquired that began while on_released of an earlier ownership was running whose
/// lease lasted. Those that began in one of the periods are excused.
std::vector<std::string> find_early_callbacks(const std::vector<Record>& records,
                                              const std::vector<Period>& excuses,
                                              std::int64_t origin);

Findings check(const Evidence& evidence, const Excuses& excuses, std::int64_t origin);

/// "c3.0 token 17 from 3.204 to 4.001 s"
std::string describe(const Ownership& ownership, std::int64_t origin);

}  // namespace simba::chaos
