#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "simba/core/mutex_owner.hpp"

namespace simba::sql {

class StatementPool;

/// The table `simba_mutex`, one row at a time, for tools and for programs with their own contention
/// loop. Services do not use it.
///
/// Every function blocks until the database has answered, at most for the connect and the statement
/// timeout. Throws InvalidArgumentError if a name is out of bounds, and Error if the database
/// cannot be reached or rejects the statement.
///
/// Threads: every function may be called concurrently from any thread.
class MutexOwnerRepository {
 public:
  explicit MutexOwnerRepository(std::shared_ptr<StatementPool> pool,
                                std::shared_ptr<const Clock> clock);
  ~MutexOwnerRepository();
  MutexOwnerRepository(const MutexOwnerRepository&) = delete;
  MutexOwnerRepository& operator=(const MutexOwnerRepository&) = delete;

  /// Creates the row of a mutex, as free. Throws IllegalStateError if it exists.
  void init_mutex(const std::string& mutex);

  /// Creates the row of a mutex, as free. Returns false if it exists.
  bool try_init_mutex(const std::string& mutex);

  /// The owner of the mutex; nobody if its lease has expired. Throws IllegalStateError if it has no
  /// row.
  MutexOwner get_owner(const std::string& mutex);

  /// Like `get_owner`, but creates the row if it is missing.
  MutexOwner ensure_owner(const std::string& mutex);

  /// Tries to acquire the mutex, without waiting. Returns whether the contender owns it afterwards.
  bool acquire(const std::string& mutex, const std::string& contender_id,
               std::chrono::milliseconds ttl, std::chrono::milliseconds transition);

  /// Like `acquire`, but returns the owner afterwards.
  MutexOwner acquire_and_get_owner(const std::string& mutex, const std::string& contender_id,
                                   std::chrono::milliseconds ttl,
                                   std::chrono::milliseconds transition);

  /// Releases the mutex if the contender owns it. Returns whether it did.
  bool release(const std::string& mutex, const std::string& contender_id);

 private:
  const std::shared_ptr<StatementPool> pool_;
  const std::shared_ptr<const Clock> clock_;
};

}  // namespace simba::sql
