#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace simba::engine {

class LeaseContention;

/// Those that contend for one mutex under one id, one after another. One that has been stopped may
/// still give back what it got, and learns from the store which token that is. By then it may be
/// that of its successor, to whom it leaves everything.
///
/// Threads: may be used from any thread at the same time.
class Succession {
 public:
  /// It asks from now on.
  void begin(std::weak_ptr<LeaseContention> newest);

  /// It contends from now on, and until it leaves nobody else does. False if another has
  /// entered.
  bool enter(const LeaseContention& contention);
  void leave(const LeaseContention& contention);

  /// The one that has begun last, where that is another than `asking` and still there.
  std::shared_ptr<LeaseContention> successor_of(const LeaseContention& asking);

 private:
  std::mutex mutex_;
  // guarded by mutex_
  std::weak_ptr<LeaseContention> newest_;
  const LeaseContention* inside_ = nullptr;  // has entered and not left
};

/// The successions of a factory.
///
/// Threads: may be used from any thread at the same time.
/// Lifetime: a succession lasts as long as someone holds it, also longer than this.
class Successions : public std::enable_shared_from_this<Successions> {
 public:
  std::shared_ptr<Succession> of(const std::string& mutex, const std::string& contender_id);

 private:
  using Name = std::pair<std::string, std::string>;

  void forget(const Name& name);

  std::mutex mutex_;
  // guarded by mutex_
  std::map<Name, std::weak_ptr<Succession>> all_;
};

}  // namespace simba::engine
