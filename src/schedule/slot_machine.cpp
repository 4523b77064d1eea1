#include "schedule/slot_machine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"

namespace simba::detail {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// A leader with nothing to do looks at the record this often, at the same moments as all others
/// of this host, so that a store can answer them together.
constexpr std::chrono::nanoseconds look_interval = 10s;

constexpr std::chrono::nanoseconds first_backoff = 100ms;
constexpr std::chrono::nanoseconds longest_backoff = 10s;

/// More than a store can lose by a failover.
constexpr std::size_t most_ran = 100;

/// After as many requests without an answer users are told.
constexpr int failures_to_tell = 3;

milliseconds whole(std::chrono::nanoseconds span) { return std::chrono::ceil<milliseconds>(span); }

/// Of options that matter to all processes. Stores keep this text: an option to come joins it only
/// where it has not its default.
std::string fingerprint_of(const SlotOptions& options) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(options.promise),
                     options.max_attempts, options.retry_pause.count(),
                     static_cast<int>(options.missed), options.max_missed,
                     static_cast<int>(options.while_busy),
                     options.start_within ? options.start_within->count() : -1,
                     options.jitter.count(), options.backfill.count());
}

std::string definition_text(const ScheduleConfig& config) {
  SlotOptions options = config.slots;
  options.history = SlotOptions{}.history;  // differs without harm
  ScheduleConfig times = config;
  times.slots = {};
  const std::string text = to_string(times);
  return options == SlotOptions{} ? text : text + ", " + to_string(options);
}

}  // namespace

SlotMachine::SlotMachine(std::string mutex, std::string contender_id, const ScheduleConfig& config,
                         Random& random)
    : mutex_{std::move(mutex)},
      contender_id_{std::move(contender_id)},
      id_in_record_{id_in_record(contender_id_)},
      options_{config.slots},
      initial_delay_{whole(config.initial_delay)},
      period_{config.cron ? std::nullopt : std::optional{whole(config.period)}},
      times_{config},
      definition_{definition_text(config)},
      fingerprint_{SlotTimes::text_of(config)},
      options_fingerprint_{fingerprint_of(options_)},
      random_{random} {}

bool SlotMachine::busy() const noexcept {
  return state_ == State::settling || state_ == State::beginning || state_ == State::running ||
         state_ == State::ending || begin_in_doubt_;
}

// ---- the term --------------------------------------------------------------------------------

SlotMachine::Actions SlotMachine::lead(FencingToken token, LocalTime now) {
  end_term();
  owner_ = {contender_id_, token};
  stopping_ = false;
  readable_ = false;
  ready_.reset();
  untold_.clear();
  failures_ = 0;
  refused_ = false;
  told_delay_ = false;
  told_ahead_ = false;
  ran_.clear();
  heard_at_ = now;
  return read();
}

void SlotMachine::end_term() {
  state_ = State::following;
  asked_ = false;
  begin_in_doubt_ = false;
  wake_ = never;
}

SlotMachine::Actions SlotMachine::stop(LocalTime now) {
  if (std::exchange(stopping_, true)) return {};
  if (!busy()) end_term();
  if (begin_in_doubt_ && !asked_) wake_ = now;
  return {};
}

SlotMachine::Actions SlotMachine::due(LocalTime now) {
  if (asked_ || now < wake_) return {};
  switch (state_) {
    case State::reading:
      return read();
    case State::waiting: {
      const auto due = readable_ ? due_at(record_) : std::nullopt;
      if (due && *due <= store_time(now)) return decide(now);
      return now >= look_ ? read() : wait(now);
    }
    case State::running: {
      wake_ = never;
      const auto next = first_unsettled(record_);
      if (!next) return {};
      if (with_jitter(*next) > store_time(now)) {
        wake_ = std::max(local_time(with_jitter(*next)), now + 1ms);
        return {};
      }
      cancelled_ = true;
      Actions actions;
      actions.cancel = true;
      return actions;
    }
    case State::ending:
      return write_end(now);
    case State::following:
    case State::settling:
    case State::beginning:
      break;
  }
  wake_ = never;
  return {};
}

SlotMachine::Actions SlotMachine::work_ended(const RunEnd& end, LocalTime now) {
  if (state_ != State::running) return {};
  ran_.push_back(slot_);
  if (ran_.size() > most_ran) ran_.pop_front();
  end_ = end;
  state_ = State::ending;
  return write_end(now);
}

SlotMachine::Actions SlotMachine::not_started(LocalTime now) {
  if (state_ != State::running) return {};
  end_.reset();
  state_ = State::ending;
  return write_end(now);
}

void SlotMachine::interrupted(LocalTime now) noexcept {
  if (state_ == State::following || state_ == State::running) return;
  begin_in_doubt_ = begin_in_doubt_ || state_ == State::beginning;
  if (state_ != State::ending) state_ = State::reading;
  asked_ = false;
  wake_ = now + 1s;
}

// ---- requests and answers --------------------------------------------------------------------

SlotMachine::Actions SlotMachine::read() {
  state_ = State::reading;
  asked_ = true;
  wake_ = never;
  Actions actions;
  actions.request = Request{.id = ++requests_, .write = {}};
  return actions;
}

SlotMachine::Actions SlotMachine::write(SlotRecord next, std::optional<SystemTime> not_before) {
  next.next = first_unsettled(next);
  text_ = to_text(next);
  asked_ = true;
  wake_ = never;
  Actions actions;
  actions.request = Request{.id = ++requests_,
                            .write = RecordWrite{.mutex = mutex_,
                                                 .text = text_,
                                                 .replaces = version_,
                                                 .owner = owner_,
                                                 .not_before = not_before}};
  return actions;
}

SlotMachine::Actions SlotMachine::answer(std::uint64_t request, const RecordResult& result,
                                         LocalTime now) {
  if (!asked_ || request != requests_) return {};
  asked_ = false;
  if (const auto* const error = std::get_if<Error>(&result)) return failed(*error, now);
  return answered(std::get<RecordAnswer>(result), now);
}

SlotMachine::Actions SlotMachine::failed(const Error& error, LocalTime now) {
  ++failures_;
  if (state_ == State::beginning) begin_in_doubt_ = error.in_doubt();
  if (state_ != State::ending) state_ = State::reading;
  Actions actions;
  if (stopping_ && !busy()) {
    end_term();
    actions.over = true;
    return actions;
  }
  wake_ = now + backoff();
  if (!told_delay_ && (failures_ >= failures_to_tell || !error.is_transient())) {
    told_delay_ = true;
    actions.events.push_back(stalled(error.what()));
  }
  return actions;
}

SlotEvent SlotMachine::stalled(std::string message) const {
  return {.kind = SlotEvent::Kind::stalled,
          .mutex = mutex_,
          .slot = {},
          .count = 1,
          .attempts_left = 0,
          .message = std::move(message)};
}

/// False: what the store has cannot be read, and nothing is to be written.
bool SlotMachine::learn(const MutexRecord& record, LocalTime now, Actions& actions) {
  answered_at_ = record.now;
  heard_at_ = now;
  begin_in_doubt_ = false;
  // After a failover a version may have another text.
  const std::uint64_t text = fnv1a(record.text);
  if (readable_ && record.version == version_ && text == text_read_) return true;
  version_ = record.version;
  text_read_ = text;
  try {
    record_ = parse_slot_record(record.text, mutex_);
    readable_ = true;
    return true;
  } catch (const Error& error) {
    readable_ = false;
    if (!std::exchange(told_delay_, true)) actions.events.push_back(stalled(error.what()));
    return false;
  }
}

SlotMachine::Actions SlotMachine::answered(const RecordAnswer& answer, LocalTime now) {
  using Outcome = RecordAnswer::Outcome;
  if (answer.outcome == Outcome::not_owned && state_ != State::ending) {
    refused_ = true;
    return failed({ErrorKind::unavailable, fmt::format("mutex [{}] is owned by another process, "
                                                       "or by nobody, says the store",
                                                       mutex_)},
                  now);
  }
  Actions actions;
  // A request that was in doubt may have been carried out.
  const bool written =
      answer.outcome == Outcome::written ||
      (answer.record.version == version_ + 1 && !text_.empty() && answer.record.text == text_);
  const bool readable = learn(answer.record, now, actions);
  if (written) {
    text_.clear();
    refused_ = false;
  }
  // What can be read need not be writable.
  if (readable && (written || (state_ == State::reading && !refused_))) {
    failures_ = 0;
    told_delay_ = false;
  }
  if (state_ == State::ending) {
    if (answer.outcome == Outcome::changed && readable && open_slot_of_ours()) {
      return write_end(now);
    }
    if (!readable || answer.outcome == Outcome::not_owned) untold_.clear();
    Actions end = finished(now);
    end.events.insert(end.events.end(), actions.events.begin(), actions.events.end());
    return end;
  }
  if (!readable) {
    if (stopping_) {
      end_term();
      actions.over = true;
      return actions;
    }
    state_ = State::waiting;
    look_ = wake_ = next_look(now);
    return actions;
  }
  if (has_begun_ours()) {
    // What was only read, replicas of the store may not have: it is not confirmed yet.
    if (answer.outcome == Outcome::written || stopping_) return begun();
    state_ = State::beginning;
    return write(record_, std::nullopt);
  }
  if (written) actions.events = std::exchange(untold_, {});
  if (stopping_) {
    end_term();
    actions.over = true;
    return actions;
  }
  look_ = next_look(now);
  const bool early = answer.outcome == Outcome::too_early;
  Actions next = early ? wait(now) : decide(now);
  next.events.insert(next.events.begin(), actions.events.begin(), actions.events.end());
  return next;
}

/// A token belongs to one term.
bool SlotMachine::names_us(const RunReport& run) const noexcept {
  return run.fencing_token == owner_.fencing_token && run.contender_id == id_in_record_;
}

std::optional<Slot> SlotMachine::open_slot_of_ours() const noexcept {
  const auto& open = record_.open;
  if (!open || !open->time || !names_us(open->run)) return std::nullopt;
  return Slot{*open->time, open->run.number, open->run.attempt};
}

/// A run that is open and that we have not run: it was begun just now, or its beginning was in
/// doubt. A store that has lost its last writes may say of some that we have run that they are
/// open.
bool SlotMachine::has_begun_ours() const noexcept {
  const auto slot = open_slot_of_ours();
  return slot && std::find(ran_.begin(), ran_.end(), *slot) == ran_.end();
}

SlotMachine::Actions SlotMachine::begun() {
  slot_ = open_slot_of_ours().value_or(Slot{});
  cancelled_ = false;
  state_ = State::running;
  Actions actions;
  actions.events = std::exchange(untold_, {});
  if (stopping_) {
    Actions undo = not_started(heard_at_);
    undo.events = std::move(actions.events);
    return undo;
  }
  wake_ = never;
  if (options_.while_busy == BusySlots::cancel_running && !record_.paused) {
    if (const auto next = first_unsettled(record_)) wake_ = local_time(with_jitter(*next));
  }
  actions.begun = slot_;
  return actions;
}

SlotMachine::Actions SlotMachine::write_end(LocalTime now) {
  const SystemTime time = store_time(now);
  SlotRecord next = record_;
  untold_.clear();
  if (!end_) {
    next.open.reset();
    next.retry = {slot_, time};
    return write(std::move(next), std::nullopt);
  }
  const int left = end_run(next, *end_, options_, time);
  if (cancelled_ && !next.paused) next.retry.reset();  // else no slot takes its place
  settle(next, time, true);
  if (end_->outcome == RunOutcome::failed) {
    tell(SlotEvent::Kind::failed, slot_, 1, next.retry ? left : 0, end_->message);
  }
  return write(std::move(next), std::nullopt);
}

/// Goes on at once, but lets others in before; later if the end could not be recorded.
SlotMachine::Actions SlotMachine::finished(LocalTime now) {
  Actions actions;
  actions.events = std::exchange(untold_, {});
  actions.over = true;
  if (stopping_) {
    end_term();
    return actions;
  }
  look_ = next_look(now);
  wake_ = now;
  state_ = State::waiting;
  if (!readable_ || open_slot_of_ours()) {
    state_ = State::reading;
    ++failures_;
    wake_ += backoff();
  }
  return actions;
}

// ---- decisions -------------------------------------------------------------------------------

SlotMachine::Actions SlotMachine::decide(LocalTime now) {
  const SystemTime time = store_time(now);
  SlotRecord next = record_;
  untold_.clear();
  register_definition(next, time);
  end_lost_run(next, time);
  settle(next, time, next.retry.has_value());
  if (!next.retry) tell_dropped_retry();
  expire_owed(next, time);
  const auto retry_at = next.retry && !next.trigger ? std::optional{next.retry->at} : std::nullopt;
  if (const auto slot = choose(next, time)) {
    const bool planned = slot->attempt == 1 && !record_.trigger;
    begin_run(next, *slot, owner_, time);
    state_ = State::beginning;
    return write(std::move(next), planned ? std::optional{slot->time} : retry_at);
  }
  if (next == record_) return wait(now);
  state_ = State::settling;
  return write(std::move(next), std::nullopt);
}

SlotMachine::Actions SlotMachine::wait(LocalTime now) {
  state_ = State::waiting;
  const auto due = due_at(record_);
  wake_ = std::max(due ? std::min(local_time(*due), look_) : look_, now + 1ms);
  Actions actions;
  const SystemTime time = store_time(now);
  const bool ahead = !record_.paused && record_.last && *record_.last > time + whole(look_interval);
  if (ahead && !told_ahead_) {
    actions.events.push_back(
        stalled(fmt::format("the clock of the slots was set back: it says {}, and the slot of {} "
                            "has begun; the next one is the first after that",
                            time_text(time), time_text(*record_.last))));
  }
  told_ahead_ = ahead;
  return actions;
}

/// The definition of the leader counts. If only its options are others, the slots stay as they are.
void SlotMachine::register_definition(SlotRecord& next, SystemTime now) {
  const bool first = next.definition.empty();
  const bool same_times = next.fingerprint == fingerprint_;
  if (!first && same_times && next.options == options_fingerprint_) return;
  if (!first) {
    tell(SlotEvent::Kind::definition_changed, std::nullopt, 1, 0,
         fmt::format("[{}] was registered as \"{}\"; from now on it is \"{}\"; make the "
                     "definition the same in all processes",
                     mutex_, excerpt(next.definition), definition_));
    if (!same_times) change_times(next, now);
  } else {
    next.anchor = now + initial_delay_;
    next.settled = period_ ? next.anchor - 1ms : now;
    if (initial_delay_ == 0ms) next.settled -= whole(options_.backfill);
  }
  next.definition = definition_;
  next.fingerprint = fingerprint_;
  next.options = options_fingerprint_;
}

/// From now on our times count. A period is counted from the last slot that was begun: where
/// leaders with different periods take turns, none begins a slot too soon, and each gets to it.
void SlotMachine::change_times(SlotRecord& next, SystemTime now) {
  drop_slots(next, now);
  const bool nothing_settled = !next.last && next.settled == next.anchor - 1ms;
  const SystemTime settled = nothing_settled ? std::min(next.settled, now) : next.settled;
  next.anchor = now;
  next.settled = std::max(settled, now);
  if (!period_) return;
  next.anchor = std::max(now, next.last ? *next.last + *period_ : now + initial_delay_);
  const bool waits = next.last && next.anchor > now;  // no slot of ours comes before
  next.settled = std::max(settled, waits ? now : next.anchor - 1ms);
}

/// Those of the times that were registered.
void SlotMachine::drop_slots(SlotRecord& next, SystemTime now) {
  std::uint64_t dropped = 0;
  SystemTime last;
  if (const auto times = SlotTimes::parse(next.fingerprint)) {
    if (next.owed) {
      const auto owed = times->span(next.anchor, next.owed->after, next.owed->until, 0);
      dropped += owed.count;
      last = owed.last;
    }
    const auto passed = times->span(next.anchor, next.settled, now, 0);
    dropped += passed.count;
    if (passed.count > 0) last = passed.last;
  } else if (next.owed) {
    dropped = 1;  // at least
    last = next.owed->until;
  }
  next.owed.reset();
  if (dropped > 0) tell(SlotEvent::Kind::missed, Slot{last, 0, 1}, dropped);
}

/// We lead, so whoever began it does not any more.
void SlotMachine::end_lost_run(SlotRecord& next, SystemTime now) {
  if (!next.open) return;
  const auto time = next.open->time;
  const Slot slot{time.value_or(SystemTime{}), next.open->run.number, next.open->run.attempt};
  const std::string who = next.open->run.contender_id;
  const int left =
      end_run(next, {.outcome = RunOutcome::lost, .exit_code = {}, .message = {}, .output = {}},
              options_, now);
  if (time) {
    tell(SlotEvent::Kind::lost, slot, 1, left,
         fmt::format("the outcome of the run by {} was never recorded", excerpt(who)));
  }
}

/// A repetition that was planned may give way to a later slot.
void SlotMachine::tell_dropped_retry() {
  for (SlotEvent& event : untold_) {
    if (event.kind == SlotEvent::Kind::lost) event.attempts_left = 0;
  }
  if (!record_.retry) return;
  Slot failed = record_.retry->slot;
  --failed.attempt;
  tell(SlotEvent::Kind::failed, failed, 1, 0, "a later slot has come before its repetition");
}

/// Decides what becomes of the slots that have passed. Those that did while nobody was ready come
/// after a repetition, and not in its place.
void SlotMachine::settle(SlotRecord& next, SystemTime now, bool busy) {
  if (next.paused) {
    ready_.reset();
    return;
  }
  if (!ready_) ready_ = now;
  SystemTime until = now;
  const auto latest = times_.span(next.anchor, next.settled, now, 0);
  if (latest.count == 0) return;
  if (latest.last >= *ready_ && with_jitter(latest.last) > now) until = latest.last - 1ms;
  if (busy) settle_until(next, std::min(until, *ready_ - 1ms), false);
  settle_until(next, until, busy);
}

void SlotMachine::settle_until(SlotRecord& next, SystemTime until, bool busy) {
  const bool keeps_all = !busy && options_.missed == MissedSlots::all;
  const std::uint64_t keep = keeps_all ? static_cast<std::uint64_t>(options_.max_missed) : 1;
  const auto span = times_.span(next.anchor, next.settled, until, keep);
  if (span.count == 0) return;
  if (busy) {
    settle_busy(next, span);
  } else {
    settle_idle(next, span);
  }
  next.settled = span.last;
}

void SlotMachine::settle_busy(SlotRecord& next, const SlotTimes::Span& span) {
  std::uint64_t skipped = span.count;
  Slot last{.time = span.last, .number = 0, .attempt = 1};
  if (options_.while_busy != BusySlots::skip) {
    // A first attempt that is pending was given back: that slot has not run.
    const bool cancels = options_.while_busy == BusySlots::cancel_running;
    if (cancels && next.retry && next.retry->slot.attempt > 1) next.retry.reset();
    const auto owed = next.owed ? times_.span(next.anchor, next.owed->after, next.owed->until, 1)
                                : SlotTimes::Span{};
    if (next.owed && owed.count > 1) {  // catching up: they come after the others
      next.owed->until = span.last;
      return;
    }
    skipped = owed.count + span.count - 1;
    last.time = span.count > 1 ? span.before_kept : owed.last;
    next.owed = {span.last - 1ms, span.last};
  }
  if (skipped > 0) tell(SlotEvent::Kind::skipped, last, skipped);
}

void SlotMachine::settle_idle(SlotRecord& next, const SlotTimes::Span& span) {
  const auto missed = [this](SystemTime last, std::uint64_t count) {
    if (count > 0) tell(SlotEvent::Kind::missed, Slot{last, 0, 1}, count);
  };
  if (options_.missed == MissedSlots::all) {
    const SystemTime from = next.owed ? next.owed->after : next.settled;
    const auto keep = static_cast<std::uint64_t>(options_.max_missed);
    const auto all = times_.span(next.anchor, from, span.last, keep);
    next.owed = {all.before_kept, span.last};
    return missed(all.before_kept, all.count - std::min(all.count, keep));
  }
  if (options_.missed == MissedSlots::skip && ready_ && span.last < *ready_) {
    return missed(span.last, span.count);
  }
  const auto owed = next.owed ? times_.span(next.anchor, next.owed->after, next.owed->until, 0)
                              : SlotTimes::Span{};
  next.owed = {span.last - 1ms, span.last};
  missed(span.count > 1 ? span.before_kept : owed.last, owed.count + span.count - 1);
}

void SlotMachine::expire_owed(SlotRecord& next, SystemTime now) {
  if (!next.owed || next.paused || !options_.start_within) return;
  const SystemTime until = std::min(now - whole(*options_.start_within) - 1ms, next.owed->until);
  const auto late = times_.span(next.anchor, next.owed->after, until, 0);
  if (late.count == 0) return;
  tell(SlotEvent::Kind::missed, Slot{late.last, 0, 1}, late.count);
  next.owed->after = late.last;
  if (next.owed->after >= next.owed->until) next.owed.reset();
}

/// Takes from the record what is to begin now.
std::optional<Slot> SlotMachine::choose(SlotRecord& next, SystemTime now) {
  const auto trigger = std::exchange(next.trigger, std::nullopt);
  if (next.retry) {
    if (!trigger && (next.paused || next.retry->at > now)) return std::nullopt;
    const Slot slot = next.retry->slot;
    next.retry.reset();
    return slot;
  }
  if (trigger) return Slot{.time = *trigger, .number = 0, .attempt = 1};
  if (!next.owed || next.paused) return std::nullopt;
  const auto first = times_.next(next.anchor, next.owed->after);
  if (!first || *first > next.owed->until) {
    next.owed.reset();
    return std::nullopt;
  }
  if (*first > now) return std::nullopt;  // the clock was set back
  next.owed->after = *first;
  next.last = *first;
  if (*first >= next.owed->until) next.owed.reset();
  return Slot{.time = *first, .number = 0, .attempt = 1};
}

/// When something is to be decided, as far as this record says.
std::optional<SystemTime> SlotMachine::due_at(const SlotRecord& record) const {
  if (record.trigger) return SystemTime{};
  if (record.paused) return std::nullopt;
  std::optional<SystemTime> due;
  const auto at = [&due](SystemTime time) { due = due ? std::min(*due, time) : time; };
  if (record.retry) {
    at(record.retry->at);
    if (options_.while_busy != BusySlots::cancel_running) return due;
  } else if (record.owed) {
    at(times_.next(record.anchor, record.owed->after).value_or(SystemTime{}));
  }
  if (const auto first = first_unsettled(record)) at(with_jitter(*first));
  return due;
}

std::optional<SystemTime> SlotMachine::first_unsettled(const SlotRecord& record) const {
  return times_.next(record.anchor, record.settled);
}

/// The same each time that this contender asks.
SystemTime SlotMachine::with_jitter(SystemTime slot) const {
  const auto most = static_cast<std::uint64_t>(whole(options_.jitter).count());
  if (most == 0) return slot;
  const std::uint64_t hash =
      fnv1a(fmt::format("{}/{}/{}", mutex_, contender_id_, slot.time_since_epoch().count()));
  return slot + milliseconds{(hash >> 11U) % (most + 1)};
}

void SlotMachine::tell(SlotEvent::Kind kind, std::optional<Slot> slot, std::uint64_t count,
                       int attempts_left, std::string message) {
  untold_.push_back({.kind = kind,
                     .mutex = mutex_,
                     .slot = slot,
                     .count = count,
                     .attempts_left = attempts_left,
                     .message = std::move(message)});
}

// ---- clocks ----------------------------------------------------------------------------------

/// Not later than it is: the answer has been under way for a while.
SystemTime SlotMachine::store_time(LocalTime now) const {
  return answered_at_ + std::chrono::floor<milliseconds>(now - heard_at_);
}

LocalTime SlotMachine::local_time(SystemTime time) const {
  const milliseconds left = time - answered_at_;
  return left < 24h ? heard_at_ + std::max<std::chrono::nanoseconds>(left, -1h)
                    : heard_at_ + std::chrono::nanoseconds{24h};
}

LocalTime SlotMachine::next_look(LocalTime now) const {
  return LocalTime{(now.time_since_epoch() / look_interval + 1) * look_interval};
}

std::chrono::nanoseconds SlotMachine::backoff() {
  auto span = first_backoff;
  for (int i = 1; i < failures_ && span < longest_backoff; ++i) span *= 2;
  span = std::min(span, longest_backoff);
  return random_.between(span / 2, span);
}

}  // namespace simba::detail
