#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "simba/core/time.hpp"

namespace simba::support {

/// Who owned one mutex and when, by the owners' own account.
///
/// Threads: every function may be called from any thread at the same time.
class OwnershipLedger {
 public:
  struct Entry {
    std::string owner;
    FencingToken token = 0;
    LocalTime first{};  ///< seen to own
    LocalTime last{};   ///< seen to own
  };

  /// An ownership was seen at this moment for the first time. Returns its number.
  std::size_t begin(const std::string& owner, FencingToken token, LocalTime at);

  /// The ownership was still there at this moment.
  void extend(std::size_t number, LocalTime at);

  /// Something that must not happen.
  void report(const std::string& what);

  std::size_t size() const;

  /// How many ownerships began at or after this moment.
  std::size_t begun_since(LocalTime at) const;

  /// How many of these belong to `owner`.
  std::size_t begun_since(LocalTime at, const std::string& owner) const;

  /// Who began to own last; empty: nobody yet.
  std::string newest_owner() const;

  /// The last moment at which anyone was seen to own.
  LocalTime last_seen() const;

  /// What is wrong, a line each, empty if nothing: two owners at once, tokens that do not grow from
  /// one ownership to the next, and what was reported. Two owners for no longer than `tolerated`
  /// are left out.
  std::string contradictions(std::chrono::nanoseconds tolerated = {}) const;

 private:
  mutable std::mutex mutex_;
  // guarded by mutex_
  std::vector<Entry> entries_;
  std::string reports_;
};

}  // namespace simba::support
