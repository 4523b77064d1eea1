#include "simba/core/delay_monitor.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace simba {
namespace {

constexpr std::size_t most_names = 3;

std::int64_t seconds_since(LocalTime moment, LocalTime now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now - moment).count();
}

std::string enumerated(const std::vector<std::string>& names) {
  const std::size_t named = std::min(names.size(), most_names);
  std::string text = fmt::format("{}", fmt::join(std::span{names}.first(named), ", "));
  if (names.size() > named) text += fmt::format(" and {} more", names.size() - named);
  return text;
}

}  // namespace

std::shared_ptr<DelayMonitor> DelayMonitor::make(std::shared_ptr<const Clock> clock,
                                                 TimerService& timers,
                                                 std::shared_ptr<Logger> log) {
  std::shared_ptr<DelayMonitor> monitor{new DelayMonitor{std::move(clock), std::move(log)}};
  monitor->timer_ = timers.create([weak = std::weak_ptr{monitor}] {
    if (const auto self = weak.lock()) self->look();
  });
  return monitor;
}

DelayMonitor::DelayMonitor(std::shared_ptr<const Clock> clock, std::shared_ptr<Logger> log)
    : clock_{std::move(clock)}, log_{std::move(log)} {}

DelayMonitor::Line::Line(const std::shared_ptr<DelayMonitor>& monitor, Who who,
                         const void* executor, std::string_view advice)
    : monitor_{monitor}, who_{std::move(who)}, executor_{executor}, advice_{advice} {}

DelayMonitor::Line::Line(const std::shared_ptr<DelayMonitor>& monitor, std::string who,
                         const void* executor, std::string_view advice)
    : Line{monitor, Who{[who = std::move(who)] { return who; }}, executor, advice} {}

/// Empty: nobody is to be told.
std::shared_ptr<DelayMonitor> DelayMonitor::Line::monitor() const noexcept {
  auto monitor = monitor_.lock();
  if (monitor && monitor->fork_guard_.in_child()) monitor.reset();
  return monitor;
}

DelayMonitor::Line::~Line() {
  const auto monitor = this->monitor();
  if (!monitor) return;
  const LocalTime now = monitor->clock_->now();
  const std::lock_guard lock{monitor->mutex_};
  returned(*monitor, now);  // what runs only once does not say when it ends
  if (listed_) monitor->remove(*this);
}

void DelayMonitor::Line::waits() noexcept {
  const auto monitor = this->monitor();
  if (!monitor) return;
  const LocalTime now = monitor->clock_->now();
  const std::lock_guard lock{monitor->mutex_};
  if (waiting_since_ != never) return;
  waiting_since_ = now;
  told_ = false;
  update(*monitor);
  if (!monitor->looking_) monitor->look_at(now + limit);
}

void DelayMonitor::Line::begins() noexcept {
  const auto monitor = this->monitor();
  if (!monitor) return;
  const LocalTime now = monitor->clock_->now();
  const std::lock_guard lock{monitor->mutex_};
  returned(*monitor, now);  // the one before, where several run in a row
  waiting_since_ = never;
  running_since_ = now;
  update(*monitor);
}

// With the mutex of the monitor held.
void DelayMonitor::Line::returned(DelayMonitor& monitor, LocalTime now) noexcept {
  if (running_since_ == never) return;
  monitor.durations_.add(now - running_since_);
  running_since_ = never;
}

void DelayMonitor::Line::ends() noexcept {
  const auto monitor = this->monitor();
  if (!monitor) return;
  const LocalTime now = monitor->clock_->now();
  const std::lock_guard lock{monitor->mutex_};
  returned(*monitor, now);
  update(*monitor);
}

void DelayMonitor::Line::is_empty() noexcept {
  const auto monitor = this->monitor();
  if (!monitor) return;
  const std::lock_guard lock{monitor->mutex_};
  waiting_since_ = never;
  update(*monitor);
}

// With the mutex of the monitor held. Allocates nothing.
void DelayMonitor::Line::update(DelayMonitor& monitor) noexcept {
  const bool wanted = waiting_since_ != never || running_since_ != never;
  if (wanted == listed_) return;
  if (wanted) {
    monitor.add(*this);
  } else {
    monitor.remove(*this);
  }
}

CallbackStatistics DelayMonitor::statistics() const {
  const LocalTime now = clock_->now();
  CallbackStatistics seen;
  const std::lock_guard lock{mutex_};
  seen.durations = durations_;
  for (const Line* line = first_; line != nullptr; line = line->next_) {
    if (line->running_since_ != never) ++seen.running;
    if (line->waiting_since_ == never) continue;
    ++seen.waiting;
    seen.waiting_for = std::max(seen.waiting_for, now - line->waiting_since_);
  }
  return seen;
}

// With mutex_ held, at the end.
void DelayMonitor::add(Line& line) noexcept {
  line.previous_ = last_;
  (last_ == nullptr ? first_ : last_->next_) = &line;
  last_ = &line;
  line.listed_ = true;
}

// With mutex_ held.
void DelayMonitor::remove(Line& line) noexcept {
  (line.previous_ == nullptr ? first_ : line.previous_->next_) = line.next_;
  (line.next_ == nullptr ? last_ : line.next_->previous_) = line.previous_;
  line.previous_ = nullptr;
  line.next_ = nullptr;
  line.listed_ = false;
}

// With mutex_ held.
void DelayMonitor::look_at(LocalTime moment) noexcept {
  try {
    timer_->arm(moment);
    looking_ = true;
  } catch (...) {  // out of memory: the next that waits tries again
  }
}

void DelayMonitor::look() {
  std::vector<std::string> messages;
  {
    const std::lock_guard lock{mutex_};
    looking_ = false;
    const LocalTime now = clock_->now();
    LocalTime next = never;
    std::vector<const Line*> late;
    for (Line* line = first_; line != nullptr; line = line->next_) {
      if (line->waiting_since_ == never || line->told_) continue;
      if (now - line->waiting_since_ < limit) {
        next = std::min(next, line->waiting_since_ + limit);
        continue;
      }
      line->told_ = true;
      ++delayed_;
      late.push_back(line);
    }
    if (next != never) look_at(next);
    while (!late.empty()) {  // one message for all that wait for the same threads
      const auto others = std::stable_partition(
          late.begin(), late.end(), [executor = late.front()->executor_](const Line* line) {
            return line->executor_ == executor;
          });
      messages.push_back(described({late.begin(), others}, now));
      late.erase(late.begin(), others);
    }
  }
  for (const std::string& message : messages) log_->log(LogLevel::warn, message);
}

// With mutex_ held.
std::string DelayMonitor::described(const std::vector<const Line*>& waiting, LocalTime now) const {
  std::vector<std::string> waiters;
  waiters.reserve(waiting.size());
  for (const Line* line : waiting) waiters.push_back(line->who_());
  std::vector<const Line*> busy;
  for (const Line* line = first_; line != nullptr; line = line->next_) {
    const bool runs = line->running_since_ != never;
    if (runs && line->executor_ == waiting.front()->executor_) busy.push_back(line);
  }
  std::stable_sort(busy.begin(), busy.end(), [](const Line* a, const Line* b) {
    return a->running_since_ < b->running_since_;
  });
  std::vector<std::string> blockers;
  blockers.reserve(busy.size());
  for (const Line* line : busy) {
    blockers.push_back(
        fmt::format("{} for {} s", line->who_(), seconds_since(line->running_since_, now)));
  }
  // What waits behind its own callback needs no thread.
  const bool behind_itself = std::all_of(waiting.begin(), waiting.end(), [](const Line* line) {
    return line->running_since_ != never;
  });
  return fmt::format(
      "not started after {} s: {}; currently running: {}; {}", limit.count(), enumerated(waiters),
      blockers.empty() ? "none" : enumerated(blockers),
      behind_itself ? "each waits for the previous one to return" : waiting.front()->advice_);
}

}  // namespace simba
