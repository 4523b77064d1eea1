#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "simba/core/error.hpp"
#include "simba/core/time.hpp"

namespace simba::engine {

/// A mutex as a store knows it.
struct MutexEntry {
  std::string mutex{};
  std::string owner_id{};          ///< empty: free
  StoreTime acquired_at{};         ///< of the owner
  FencingToken fencing_token = 0;  ///< of the owner, or the last one
  /// Until anyone else may acquire it. Empty where the store has sessions instead: until the
  /// owner's ends.
  std::optional<std::chrono::milliseconds> left{};
};

/// Something that an operator should know of.
struct Finding {
  enum class Weight {
    note,     ///< good to know
    warning,  ///< works, but not as well or as safely as it could
    problem,  ///< does not work
  };
  Weight weight = Weight::note;
  std::string text{};                         ///< what is wrong and what to do, in plain words
  ErrorKind kind = ErrorKind::configuration;  ///< of a problem: what contenders fail with
};

/// How a store is.
struct StoreReport {
  std::string server{};                    ///< product and version, e.g. "PostgreSQL 15.4"
  std::optional<StoreTime> server_time{};  ///< by the clock that decides, where it is a wall clock
  std::vector<Finding> findings{};
};

/// What tools do with a store beyond contending. For command lines: every function blocks until the
/// store has answered, in bounded time, and throws Error where it does not.
///
/// Threads: calls must not overlap.
class StoreAdmin {
 public:
  virtual ~StoreAdmin() = default;

  /// Throws Error of kind `configuration` where the store itself is still to be made, as a file
  /// that does not exist. To those that look it is empty, which may be a mistyped name.
  virtual void check_exists() {}

  /// All mutexes that the store knows of, in the order of their names. Free ones too where it keeps
  /// them.
  virtual std::vector<MutexEntry> list() = 0;

  /// One mutex; free where the store does not know it.
  virtual MutexEntry find(const std::string& mutex) = 0;

  /// Frees the mutex whoever owns it, and answers with what it was before. Its owner learns of it
  /// at its next renewal, or sooner: until then there may be two.
  virtual MutexEntry evict(const std::string& mutex) = 0;

  /// Makes what the store needs and lacks, e.g. its table. Says what was done, in words.
  virtual std::string init() = 0;

  /// Looks at reachability, rights, version and settings. Throws only where it cannot be reached.
  virtual StoreReport examine() = 0;
};

}  // namespace simba::engine
