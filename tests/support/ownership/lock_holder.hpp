#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "simba/core/mutex_service_factory.hpp"
#include "support/ownership/ownership_ledger.hpp"

namespace simba::support {

/// A thread that acquires a mutex, holds it for a while, gives it back and rests, again and again.
/// It writes down each millisecond whether it holds the mutex.
///
/// It writes less than the truth: an ownership may have begun earlier and ended later. So what the
/// ledger finds wrong is wrong.
///
/// Lifetime: the factory and the ledger outlive it. The destructor ends the thread.
class LockHolder {
 public:
  /// `hold` says how long, each time; asked each millisecond, so that it may change its mind.
  LockHolder(std::string name, std::string mutex, MutexContendServiceFactory& factory,
             OwnershipLedger& ledger, std::function<std::chrono::milliseconds()> hold);

 private:
  std::jthread thread_;
};

}  // namespace simba::support
