#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "simba/core/mutex_owner.hpp"

namespace simba::sql {

class StatementPool;

/// The table `simba_mutex`, one row at a time, for tools and for those who bring a contention loop
/// of their own. Services do not use it.
///
/// Every function blocks until the database has answered, at most for the connect and the statement
/// time-out. Throws InvalidArgumentError for names out of bounds, and Error where the database
/// cannot be reached or refuses.
///
/// Threads: every function may be called from any thread at the same time.
class MutexOwnerRepository {
 public:
  explicit MutexOwnerRepository(std::shared_ptr<StatementPool> pool,
                                std::shared_ptr<const Clock> clock);
  ~MutexOwnerRepository();
  MutexOwnerRepository(const MutexOwnerRepository&) = delete;
  MutexOwnerRepository& operator=(const MutexOwnerRepository&) = delete;

  /// Makes the row of a mutex, free. Throws IllegalStateError where it exists.
  void init_mutex(const std::string& mutex);

  /// The same; false where it exists.
  bool try_init_mutex(const std::string& mutex);

  /// Who owns the mutex; nobody where its lease is over. Throws IllegalStateError where it has no
  /// row.
  MutexOwner get_owner(const std::string& mutex);

  /// The same, and makes the row where it is missing.
  MutexOwner ensure_owner(const std::string& mutex);

  /// True where the contender owns the mutex afterwards. Does not wait for it.
  bool acquire(const std::string& mutex, const std::string& contender_id,
               std::chrono::milliseconds ttl, std::chrono::milliseconds transition);

  /// The same; who owns it afterwards.
  MutexOwner acquire_and_get_owner(const std::string& mutex, const std::string& contender_id,
                                   std::chrono::milliseconds ttl,
                                   std::chrono::milliseconds transition);

  /// Frees the mutex if the contender owns it; tells whether it did.
  bool release(const std::string& mutex, const std::string& contender_id);

 private:
  const std::shared_ptr<StatementPool> pool_;
  const std::shared_ptr<const Clock> clock_;
};

}  // namespace simba::sql
