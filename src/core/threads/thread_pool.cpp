#include "core/threads/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <system_error>
#include <thread>
#include <utility>

#include "core/log_exception.hpp"
#include "simba/core/error.hpp"
#include "simba/core/fork_guard.hpp"

namespace simba::detail {
namespace {

/// How long a task may run before its thread counts as blocked.
constexpr std::chrono::milliseconds blocked_after{10};

/// When the system has refused a thread, the next attempt comes after this.
constexpr std::chrono::seconds next_attempt_after{1};

thread_local const void* pool_of_this_thread = nullptr;

}  // namespace

/// The queue and the threads. The threads hold it, so that it outlives a pool that is destroyed on
/// one of them.
class ThreadPool::Workers : public std::enable_shared_from_this<Workers> {
 public:
  Workers(std::string name, std::size_t least, std::size_t most, PoolSurroundings surroundings)
      : name_{std::move(name)},
        least_{least},
        most_{std::max(least, most)},
        surroundings_{std::move(surroundings)} {}

  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }
  bool has_this_thread() const noexcept { return pool_of_this_thread == this; }

  void start() {
    timer_ = surroundings_.timers->create([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->grow();
    });
    for (std::size_t i = 0; i < least_; ++i) {
      try {
        add_thread();
      } catch (const std::system_error&) {
        if (i == 0) throw;  // else fewer threads do the same work
        return;
      }
    }
  }

  void execute(std::function<void()> task) {
    const LocalTime now = surroundings_.clock->now();
    {
      const std::lock_guard lock{mutex_};
      queue_.push_back({std::move(task), now});
      if (queue_.size() > idle_) grow_at(now + blocked_after);
    }
    changed_.notify_one();
  }

  /// Lets the threads end once everything queued has run.
  void finish() {
    std::list<Member> members;
    {
      std::unique_lock lock{mutex_};
      ending_ = true;
      changed_.notify_all();
      started_.wait(lock, [this] { return starting_ == 0; });
      members.swap(members_);
    }
    for (Member& member : members) surroundings_.group->join_or_detach(member.thread);
    const std::lock_guard lock{mutex_};
    members_.splice(members_.end(), members);  // those that were let go look at theirs
  }

 private:
  struct Task {
    std::function<void()> run;
    LocalTime queued_at;
  };

  struct Member {
    std::thread thread;
    LocalTime busy_since = never;  // never: with nothing
    bool over = false;             // has left, or is about to
  };
  using Place = std::list<Member>::iterator;

  /// By the timer. With no lock held while threads start.
  void grow() {
    std::size_t wanted = 0;
    {
      const std::lock_guard lock{mutex_};
      growing_at_ = never;
      if (queue_.empty() || ending_) return;
      const LocalTime now = surroundings_.clock->now();
      if (idle_ == 0 && now - queue_.front().queued_at >= blocked_after) wanted = missing(now);
      grow_at(now + blocked_after);
    }
    try {
      for (; wanted > 0; --wanted) add_thread();
    } catch (...) {  // what waits stays in the queue
      log_current_exception(*surroundings_.log,
                            name_ + ": cannot start another thread for waiting tasks");
      const std::lock_guard lock{mutex_};
      growing_at_ = never;
      grow_at(surroundings_.clock->now() + next_attempt_after);
    }
  }

  /// How many threads the tasks that block now call for. Where all threads are blocked those that
  /// wait may be of the same kind, so their number doubles.
  std::size_t missing(LocalTime now) const {
    const auto blocked = static_cast<std::size_t>(
        std::count_if(members_.begin(), members_.end(), [&](const Member& member) {
          return member.busy_since != never && now - member.busy_since >= blocked_after;
        }));
    const std::size_t target = blocked >= alive_ ? 2 * alive_ : least_ + blocked;
    if (target <= alive_) return 0;
    return std::min({target - alive_, queue_.size(), most_ - alive_});
  }

  /// With mutex_ held.
  void grow_at(LocalTime moment) noexcept {
    if (alive_ >= most_ || growing_at_ != never) return;
    try {
      timer_->arm(moment);
      growing_at_ = moment;
    } catch (...) {  // out of memory: the next task that waits tries again
    }
  }

  void add_thread() {
    Place place;
    std::string name;
    {
      const std::lock_guard lock{mutex_};
      if (ending_) return;  // nobody would join it
      place = members_.emplace(members_.end());
      name = (name_ + "-" + std::to_string(alive_)).substr(0, 15);
      ++alive_;
      ++starting_;
    }
    std::thread thread;
    std::exception_ptr failure;
    try {
      thread = surroundings_.group->start(
          std::move(name), [self = shared_from_this(), place] { self->serve(place); });
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock{mutex_};
      --starting_;
      if (failure) {
        --alive_;
        members_.erase(place);
      } else {
        place->thread = std::move(thread);
      }
    }
    started_.notify_all();
    if (failure) std::rethrow_exception(failure);
  }

  void serve(Place place) noexcept {
    pool_of_this_thread = this;
    std::list<Member> left;
    {
      std::unique_lock lock{mutex_};
      while (!queue_.empty() || may_wait()) {
        if (queue_.empty()) {
          ++idle_;
          changed_.wait(lock, [this] { return !queue_.empty() || ending_; });
          --idle_;
          continue;
        }
        run_one(lock, *place);
        if (in_forked_child()) return;  // the lock is not held: the rest is the parent's to do
      }
      place->over = true;
      --alive_;
      left = those_that_left(place);
    }
    for (Member& member : left) member.thread.join();  // each has left before: it waits for no one
  }

  bool may_wait() const { return !ending_ && idle_ < least_; }

  /// Where the task forked and came back, the lock is not taken again in the child.
  void run_one(std::unique_lock<std::mutex>& lock, Member& self) noexcept {
    std::function<void()> run = std::move(queue_.front().run);
    queue_.pop_front();
    self.busy_since = surroundings_.clock->now();
    if (!queue_.empty()) grow_at(self.busy_since + blocked_after);
    lock.unlock();
    try {
      run();
    } catch (...) {
      log_current_exception(*surroundings_.log, "a task of " + name_ + " threw");
    }
    run = nullptr;
    if (in_forked_child()) return;
    lock.lock();
    self.busy_since = never;
  }

  /// Those that have left before `self`, to be joined. At the end of the pool it does that.
  std::list<Member> those_that_left(Place self) {
    std::list<Member> left;
    if (ending_) return left;
    for (auto place = members_.begin(); place != members_.end();) {
      const auto member = place++;
      if (member != self && member->over && member->thread.joinable()) {
        left.splice(left.end(), members_, member);
      }
    }
    return left;
  }

  // constant after construction
  const std::string name_;
  const std::size_t least_;
  const std::size_t most_;
  const PoolSurroundings surroundings_;
  const ForkGuard fork_guard_;

  std::mutex mutex_;
  std::condition_variable changed_;  // the queue
  std::condition_variable started_;  // a thread, or not
  // guarded by mutex_
  std::deque<Task> queue_;
  std::list<Member> members_;
  std::size_t alive_ = 0;     // members that are not over
  std::size_t idle_ = 0;      // of them, those that wait
  std::size_t starting_ = 0;  // of them, those whose thread is being made
  bool ending_ = false;
  LocalTime growing_at_ = never;  // when the timer looks whether the pool should grow
  std::unique_ptr<Timer> timer_;
};

ThreadPool::Parts::~Parts() { workers->finish(); }

bool ThreadPool::Parts::in_forked_child() const noexcept { return workers->in_forked_child(); }

ThreadPool::ThreadPool(std::string name, std::size_t least, std::size_t most,
                       PoolSurroundings surroundings)
    : name_{std::move(name)},
      parts_{std::make_shared<Workers>(name_, least, most, std::move(surroundings))} {}

void ThreadPool::start() {
  std::call_once(started_, [this] { parts_->workers->start(); });
}

void ThreadPool::execute(std::function<void()> task) {
  if (parts_->in_forked_child()) {
    throw IllegalStateError{"the threads of pool " + name_ +
                            " belong to the parent process; create a new runtime after fork()"};
  }
  start();
  parts_->workers->execute(std::move(task));
}

bool ThreadPool::running_in_this_thread() const noexcept {
  return parts_->workers->has_this_thread();
}

}  // namespace simba::detail
