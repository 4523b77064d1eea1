#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "simba/core/error.hpp"
#include "simba/core/log.hpp"

namespace simba::detail {

/// The mutexes that the listings of a store leave out, since what the store holds of them cannot be
/// read: one such entry, which anybody with access to the store may have put there, must not hide
/// the others.
///
/// Threads: used by one thread at a time.
class UnreadableMutexes {
 public:
  explicit UnreadableMutexes(std::shared_ptr<Logger> log) : log_{std::move(log)} {}

  /// Logs the mutex and the reason, once for each mutex. After ten mutexes it only says that there
  /// are more.
  void leave_out(const std::string& mutex, const Error& error);

  /// False for an error that would be the same for every mutex: the store cannot be reached or used
  /// at present, rejects the log-in, lacks a permission, or cannot do what is needed. Of any other
  /// error the kind alone does not tell.
  static bool concerns_one(const Error& error) noexcept;

 private:
  // constant after construction
  const std::shared_ptr<Logger> log_;

  std::set<std::string> reported_{};
};

}  // namespace simba::detail
