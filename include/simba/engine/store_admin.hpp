#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "simba/core/error.hpp"
#include "simba/core/time.hpp"

namespace simba::engine {

/// A contender in the line for a mutex.
struct WaitingContender {
  std::string contender_id{};
  StoreTime since{};

  friend bool operator==(const WaitingContender&, const WaitingContender&) = default;
};

/// A mutex as known to a store.
struct MutexEntry {
  std::string mutex{};
  std::string owner_id{};          ///< empty: free
  StoreTime acquired_at{};         ///< of the owner
  FencingToken fencing_token = 0;  ///< of the owner, or the last one
  /// The time until anyone else may acquire it. Empty if the store has sessions: it is held until
  /// the owner's session ends.
  std::optional<std::chrono::milliseconds> left{};

  /// Who waits, first in line first, `StoreAdmin::most_waiting` of them at most. Empty: the store
  /// does not know, or was not asked.
  std::optional<std::vector<WaitingContender>> waiting{};
};

/// Something an operator should know.
struct Finding {
  enum class Weight {
    note,     ///< good to know
    warning,  ///< works, but not as well or as safely as it could
    problem,  ///< does not work
  };
  Weight weight = Weight::note;
  std::string text{};                         ///< what is wrong and what to do about it
  ErrorKind kind = ErrorKind::configuration;  ///< for a problem: the error that contenders get
};

/// The condition of a store.
struct StoreReport {
  std::string server{};                    ///< product and version, e.g. "PostgreSQL 15.4"
  std::optional<StoreTime> server_time{};  ///< on the clock of leases, if that is a wall clock
  std::vector<Finding> findings{};
};

/// What administrative tools need from a store. Every function blocks, for a bounded time, until
/// the store has answered, and throws Error if it does not.
///
/// Threads: calls must not overlap.
class StoreAdmin {
 public:
  static constexpr std::size_t most_waiting = 100;

  virtual ~StoreAdmin() = default;

  /// Throws Error of kind `configuration` if the store itself does not exist yet, such as a missing
  /// file. `list` and `find` treat it as empty, which may hide a mistyped name.
  virtual void check_exists() {}

  /// All mutexes known to the store, sorted by name, including free ones if it keeps them. One that
  /// cannot be read, such as a row with invalid values, is left out and reported once in the log.
  virtual std::vector<MutexEntry> list() = 0;

  /// One mutex; free if the store does not know it.
  virtual MutexEntry find(const std::string& mutex) = 0;

  /// Frees the mutex, whoever owns it, and returns its state before. The owner notices at its next
  /// renewal at the latest; until then there may be two owners.
  virtual MutexEntry evict(const std::string& mutex) = 0;

  /// Creates what the store needs, e.g. its table, if it is missing. Returns a description of what
  /// was done.
  virtual std::string init() = 0;

  /// Checks permissions, version and settings. Throws only if the store cannot be reached.
  virtual StoreReport examine() = 0;

  /// As `list`, with those who wait if the store knows them: Redis and ZooKeeper do. Contenders of
  /// the JVM library are seen on Redis once one of ours waits beside them.
  virtual std::vector<MutexEntry> list_with_waiting() { return list(); }
};

}  // namespace simba::engine
