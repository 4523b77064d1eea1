#include "cli/candidate.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <poll.h>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "cli/child/lease_keeper.hpp"
#include "cli/errors.hpp"
#include "cli/terminal/printable.hpp"
#include "cli/terminal/times.hpp"
#include "simba/core/clock.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds quiet = 1s;

/// Says that we wait, and for whom: once, again when that changes, and on a terminal each second.
class WaitNotes {
 public:
  WaitNotes(const Candidate& candidate, Output& output)
      : candidate_{candidate}, output_{output}, next_{quiet} {}
  ~WaitNotes() { output_.end_passing_note(); }
  WaitNotes(const WaitNotes&) = delete;
  WaitNotes& operator=(const WaitNotes&) = delete;

  /// When `tell` has something to do again, counted from the beginning.
  nanoseconds next() const noexcept { return next_; }

  void tell(const Candidate::News& news, nanoseconds waited) {
    if (waited < quiet) return;
    const std::string reason = reason_of(news);
    // The text of an error may differ each time, as in "for 747 ms".
    const std::string topic =
        news.error ? fmt::to_string(static_cast<int>(news.error->kind())) : reason;
    const bool changed = topic != told_;
    if (!changed && waited < next_) return;
    while (next_ <= waited) next_ += quiet;
    if (!changed && !output_.live_notes()) return;
    told_ = topic;
    told_error_ = news.error && !output_.live_notes();
    Json object{{"event", "waiting"},
                {"mutex", candidate_.mutex()},
                {"contender_id", candidate_.contender_id()},
                {"owner", news.owner},
                {"waited_ms", std::chrono::duration_cast<milliseconds>(waited).count()}};
    if (news.error) object["error"] = news.error->what();
    const std::string time = output_.live_notes() ? ", " + to_text(waited) : "";
    output_.passing_note(
        fmt::format("waiting for mutex \"{}\"{}{}", printable(candidate_.mutex()), reason, time),
        object);
  }

  /// Whether what stands on the screen last is why we wait: the error of the store.
  bool told_error() const noexcept { return told_error_; }

 private:
  static std::string reason_of(const Candidate::News& news) {
    if (news.error) return fmt::format(": {}", news.error->what());
    if (!news.owner.empty()) return fmt::format(", owned by {}", printable(news.owner));
    return news.answered ? "" : ": no answer from the store yet";
  }

  const Candidate& candidate_;
  Output& output_;
  nanoseconds next_;
  std::string told_{"?"};
  bool told_error_ = false;
};

Failure not_acquired(const Candidate& candidate, const Candidate::News& news,
                     const WaitNotes& notes, milliseconds limit) {
  std::string text = fmt::format("mutex \"{}\" not acquired", printable(candidate.mutex()));
  if (limit > 0ms) text += fmt::format(" within {}", to_text(limit));
  if (!news.owner.empty()) text += fmt::format("; owned by {}", printable(news.owner));
  const bool namesake = news.error && news.owner == candidate.contender_id();
  if (namesake && !notes.told_error()) text += fmt::format(": {}", news.error->what());
  return Failure{ExitCode::not_acquired, text};
}

/// The error of the store, or, where that was told already, only that it has not passed.
Failure store_failure(const Candidate& candidate, const Error& error, const WaitNotes& notes,
                      nanoseconds waited) {
  if (!notes.told_error()) return to_failure(error);
  return Failure{exit_code_of(error.kind()),
                 fmt::format("gave up waiting for mutex \"{}\" after {}: no answer from the store",
                             printable(candidate.mutex()), to_text(waited))};
}

/// Throws where it is time to give up.
void check(const Candidate& candidate, const Candidate::News& news, const Patience& patience,
           const WaitNotes& notes, nanoseconds waited) {
  if (news.error && !news.error->is_transient()) throw to_failure(*news.error);
  if (const auto why = deadlock_with(candidate.mutex(), news.owner)) {
    throw Failure{ExitCode::usage, *why};
  }
  if (!patience.limit) {
    if (news.error && !news.answered && waited >= patience.silence) {
      throw store_failure(candidate, *news.error, notes, waited);
    }
    return;
  }
  const bool asked_once = *patience.limit == 0ms && (news.error || !news.owner.empty());
  if (!asked_once && (*patience.limit == 0ms || waited < *patience.limit)) return;
  if (news.error && news.owner.empty()) {
    throw store_failure(candidate, *news.error, notes, waited);
  }
  if (!news.answered) {
    throw Failure{ExitCode::unavailable,
                  fmt::format("no answer from the store within {}", to_text(*patience.limit))};
  }
  throw not_acquired(candidate, news, notes, *patience.limit);
}

}  // namespace

Candidate::News Candidate::news() {
  wake_up_.clear();
  const std::lock_guard lock{mutex_};
  return news_;
}

void Candidate::end_use() {
  {
    const std::lock_guard lock{mutex_};
    in_use_ = false;
  }
  unused_.notify_all();
}

void Candidate::notify_owner(const MutexState& state) {
  std::unique_lock lock{mutex_};
  news_.answered = true;
  news_.error.reset();
  news_.owner = state.after().owner_id();
  if (state.is_acquired(contender_id())) news_.acquired = in_use_ = true;
  wake_up_.raise();
  if (state.is_released(contender_id())) unused_.wait(lock, [this] { return !in_use_; });
}

void Candidate::on_event(const ContentionEvent& event) {
  const auto* failed = std::get_if<AcquireFailed>(&event);
  const auto* lost = std::get_if<OwnershipLost>(&event);
  {
    const std::lock_guard lock{mutex_};
    if (failed != nullptr) {
      news_.error = failed->error;
      if (failed->namesake) {
        news_.answered = true;
        news_.owner = contender_id();
      }
      if (failed->error.kind() == ErrorKind::duplicate_id) news_.duplicate_id = true;
    }
    if (lost != nullptr && lost->reason == LossReason::duplicate_id) news_.duplicate_id = true;
  }
  wake_up_.raise();
}

std::optional<int> wait_for_mutex(Candidate& candidate, Signals& signals, const Patience& patience,
                                  Output& output) {
  const auto clock = make_system_clock();
  const LocalTime begun = clock->now();
  WaitNotes notes{candidate, output};
  for (;;) {
    const auto news = candidate.news();
    if (news.acquired) return std::nullopt;
    while (const int signal = signals.next()) {
      if (is_ending(signal)) return exit_code_of_signal(signal);
      if (signal == SIGTSTP) ::raise(SIGSTOP);
    }
    const nanoseconds waited = clock->now() - begun;
    if (!news.error || news.error->is_transient()) notes.tell(news, waited);
    check(candidate, news, patience, notes, waited);

    nanoseconds wake_at = notes.next();
    if (patience.limit && *patience.limit > 0ms) wake_at = std::min(wake_at, {*patience.limit});
    const auto left = std::chrono::ceil<milliseconds>(wake_at - waited).count();
    std::array<pollfd, 2> files{{{candidate.file(), POLLIN, 0}, {signals.file(), POLLIN, 0}}};
    ::poll(files.data(), files.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
  }
}

}  // namespace simba::cli
