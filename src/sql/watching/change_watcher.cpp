#include "sql/watching/change_watcher.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/threads/thread_group.hpp"
#include "sql/workers/poll_wait.hpp"

namespace simba::sql {
namespace {

/// How long a name that the database refuses is left out.
constexpr std::chrono::seconds exclusion{30};

}  // namespace

class ChangeWatcher::Loop : public std::enable_shared_from_this<Loop> {
 public:
  Loop(std::shared_ptr<StatementPool> pool, std::shared_ptr<WatchHub> hub,
       std::shared_ptr<const Clock> clock, const SqlPlan& plan, std::shared_ptr<Logger> log)
      : pool_{std::move(pool)},
        hub_{std::move(hub)},
        clock_{std::move(clock)},
        plan_{plan},
        log_{std::move(log)} {}

  void start() {
    thread_.start("simba-sql-watch", [self = shared_from_this()] { self->run(); });
  }

  void wake() noexcept { wakeup_.raise(); }

  void close() {
    closing_ = true;
    wakeup_.raise();
    thread_.join_or_let_go(std::chrono::seconds{1});
  }

 private:
  void run() {
    const auto feed = pool_->database().make_feed();
    LocalTime next_look = real_now() + plan_.poll_interval;
    MutexNames names = hub_->names();
    while (!closing_) {
      const Hint hint = feed->wait(*names, names->empty() ? never : next_look, wakeup_);
      wakeup_.clear();
      names = hub_->names();  // a round begins with those that came meanwhile
      const LocalTime now = real_now();
      const bool again = look_again_.exchange(false);
      if (names->empty() || hint.all || again) {
        look_at_all(names);
        next_look = now + plan_.poll_interval;
      } else {
        if (now >= next_look) next_look = now + look_at_next(names);
        if (!hint.mutexes.empty()) look_at_some(hint.mutexes);
      }
    }
  }

  void look_at_all(const MutexNames& names) {
    if (names->empty()) return;
    {
      const std::lock_guard lock{mutex_};
      if (looking_) {
        missed_ = true;
        return;
      }
      looking_ = true;
    }
    look_alone(names);
  }

  /// At the next part; at all of it, where that has not to be spread. Tells how long to wait for
  /// the one after it.
  std::chrono::nanoseconds look_at_next(const MutexNames& names) {
    {
      const std::lock_guard lock{mutex_};
      if (looking_) return plan_.poll_interval;
      looking_ = true;
    }
    const std::size_t total = names->size();
    const std::size_t parts = plan_.parts(total);
    look_alone(parts == 1 ? names : next_part(names, (total + parts - 1) / parts));
    return plan_.round(total) / static_cast<std::int64_t>(parts);
  }

  /// Rounds follow each other without a gap, and each begins with those that came last. So the
  /// order is the same in each, and between two looks at a mutex, or between its coming and the
  /// first, no other is looked at twice: that takes no longer than one round of all that are
  /// watched.
  MutexNames next_part(const MutexNames& names, std::size_t size) {
    auto part = std::make_shared<std::vector<std::string>>();
    bool begun = false;  // a round, in this part
    while (part->size() < size) {
      if (left_ == 0) {
        if (begun) break;  // some are not watched any more
        begun = true;
        round_ = names;
        left_ = round_->size();
      }
      const std::string& name = (*round_)[--left_];
      if (hub_->watches(name)) part->push_back(name);
    }
    return part;
  }

  // One at a time: a slow database is not asked faster than it answers.
  void look_alone(const MutexNames& names) {
    look(without_excluded(names), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->looked();
    });
  }

  void looked() {
    const std::lock_guard lock{mutex_};
    looking_ = false;
    if (std::exchange(missed_, false)) {
      look_again_ = true;
      wakeup_.raise();
    }
  }

  void look_at_some(const std::vector<std::string>& mutexes) {
    const std::unordered_set<std::string> different{mutexes.begin(), mutexes.end()};
    auto watched = std::make_shared<std::vector<std::string>>();
    for (const std::string& mutex : different) {
      if (hub_->watches(mutex)) watched->push_back(mutex);
    }
    if (!watched->empty()) look(without_excluded(watched), [] {});
  }

  void look(const MutexNames& names, std::function<void()> after) {
    if (names->empty()) {
      after();
      return;
    }
    pool_->look(names, [names, hub = hub_, asked_at = clock_->now(), weak = weak_from_this(),
                        then = std::move(after)](const Result<std::vector<Row>>& answer) {
      if (const auto* rows = std::get_if<std::vector<Row>>(&answer)) {
        hub->saw(*names, *rows, asked_at);
      } else if (const auto self = weak.lock()) {
        self->failed(names, std::get<Error>(answer));
      }
      then();
    });
  }

  /// What no name can be to blame for. Whoever waits is told of it by its own requests.
  static bool concerns_all(ErrorKind kind) noexcept {
    return kind == ErrorKind::authentication || kind == ErrorKind::permission ||
           kind == ErrorKind::configuration;
  }

  /// Where the database refuses what was asked, one name of it may be to blame, say one that the
  /// character set of the table does not have. It is searched for by halves, so that the others are
  /// looked at, and left out for a while: the refusal may have had another cause, which passes.
  void failed(const MutexNames& names, const Error& error) {
    if (error.is_transient() || concerns_all(error.kind()) || closing_) return;
    if (names->size() > 1) {
      const auto middle = names->begin() + static_cast<std::ptrdiff_t>(names->size() / 2);
      look(std::make_shared<std::vector<std::string>>(names->begin(), middle), [] {});
      look(std::make_shared<std::vector<std::string>>(middle, names->end()), [] {});
      return;
    }
    {
      const std::lock_guard lock{mutex_};
      const bool known = !excluded_.insert_or_assign(names->front(), real_now() + exclusion).second;
      if (known) return;  // and logged
    }
    log_->log(LogLevel::warn,
              "mutex [" + names->front() + "]: cannot check for changes: " + error.what());
  }

  MutexNames without_excluded(const MutexNames& names) {
    const std::lock_guard lock{mutex_};
    std::erase_if(excluded_, [&](const auto& entry) { return !hub_->watches(entry.first); });
    if (excluded_.empty()) return names;
    const LocalTime now = real_now();
    auto rest = std::make_shared<std::vector<std::string>>();
    std::copy_if(names->begin(), names->end(), std::back_inserter(*rest),
                 [&](const std::string& name) {
                   const auto found = excluded_.find(name);
                   return found == excluded_.end() || found->second <= now;
                 });
    return rest;
  }

  const std::shared_ptr<StatementPool> pool_;
  const std::shared_ptr<WatchHub> hub_;
  const std::shared_ptr<const Clock> clock_;
  const SqlPlan plan_;
  const std::shared_ptr<Logger> log_;
  Wakeup wakeup_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> look_again_{false};  // at everything, now

  // of the thread
  MutexNames round_{};    // what was watched when this round of several parts began
  std::size_t left_ = 0;  // how many of them, from the front, it has still to look at

  std::mutex mutex_;
  // guarded by mutex_
  bool looking_ = false;  // a look at everything, or at a part, is under way
  bool missed_ = false;   // and one at everything was wanted meanwhile
  std::unordered_map<std::string, LocalTime> excluded_;  // what the database refuses, until when

  detail::BoundedThreads thread_;  // used by the owner of this loop only
};

ChangeWatcher::ChangeWatcher(std::shared_ptr<StatementPool> pool, std::shared_ptr<WatchHub> hub,
                             const Runtime& runtime, const SqlPlan& plan)
    : loop_{std::make_shared<Loop>(std::move(pool), std::move(hub), runtime.clock, plan,
                                   runtime.log)} {
  loop_->start();
}

ChangeWatcher::~ChangeWatcher() {
  if (fork_guard_.in_child()) {
    detail::leak(loop_);
  } else {
    loop_->close();
  }
}

void ChangeWatcher::watched_changed() { loop_->wake(); }

}  // namespace simba::sql
