#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace simba::engine {

class LeaseContention;
class Successions;

/// Those that contend for one mutex under one id, one after another. One that has been stopped may
/// still give back what it got, and learns from the store which token that is. By then it may be
/// that of its successor, to whom it leaves everything.
///
/// Threads: may be used from any thread at the same time.
class Succession {
 public:
  Succession(std::weak_ptr<Successions> all, std::string mutex, std::string contender_id);
  ~Succession();
  Succession(const Succession&) = delete;
  Succession& operator=(const Succession&) = delete;

  /// It asks from now on.
  void begin(std::weak_ptr<LeaseContention> newest);

  /// It contends from now on, and until it leaves nobody else does. False if another has
  /// entered.
  bool enter(const LeaseContention& contention);
  void leave(const LeaseContention& contention);

  /// The one that has begun last, where that is another than `asking` and still there.
  std::shared_ptr<LeaseContention> successor_of(const LeaseContention& asking);

 private:
  friend class Successions;

  // constant after construction
  const std::weak_ptr<Successions> all_;
  const std::string mutex_name_;
  const std::string contender_id_;

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
  friend class Succession;

  /// Views into the succession that the entry leads to, whose destructor removes the entry.
  using Name = std::pair<std::string_view, std::string_view>;

  static Name name_of(const Succession& succession) noexcept {
    return {succession.mutex_name_, succession.contender_id_};
  }
  void forget(const Succession& succession);

  std::mutex mutex_;
  // guarded by mutex_
  std::map<Name, std::weak_ptr<Succession>> all_;
};

}  // namespace simba::engine
