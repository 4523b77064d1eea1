#include "sim/slot_rules.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

#include "sim/world/store.hpp"

namespace simba::sim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// What a leader needs in peace between two things that it does, several times over.
constexpr nanoseconds grace = 3s;

/// How long a leader may take to hear of a pause, a resumption or a trigger.
constexpr nanoseconds hearsay = 10s;

/// After trouble: what is on its way fails within 5 s, and is tried again within 10 s.
constexpr nanoseconds recovery = 15s;

/// More than any.
constexpr int most_attempts = 1'000'000;
constexpr FencingToken greatest_token = std::numeric_limits<FencingToken>::max();

}  // namespace

SlotRules::SlotRules(const Scene& scene, Checker& checker, Network& network)
    : scene_{scene}, checker_{checker}, network_{network} {
  network_.after_text = [this](const TextCall& call, const RecordAnswer& answer) {
    executed(call, answer);
  };
  network_.after_loss = [this](LocalTime since, LocalTime until) { forgot(since, until); };
  network_.before_jump = [this] { note_peaks(); };
  checker_.owes_a_word = [this](const Party& party, FencingToken token) {
    return owes_a_word(party, token);
  };
}

void SlotRules::expect(std::size_t mutex, const ScheduleConfig& config, bool agreed) {
  mutexes_[mutex].config = config;
  mutexes_[mutex].agreed = agreed;
}

void SlotRules::add(const Party& party) { mutexes_.at(party.mutex).parties.push_back(&party); }

SlotRules::Mutex* SlotRules::find(std::size_t mutex) {
  const auto found = mutexes_.find(mutex);
  return found == mutexes_.end() ? nullptr : &found->second;
}

std::string SlotRules::words(const Party& party, const Slot& slot) const {
  return fmt::format("{} in {} begins attempt {} of run {} of m{}, slot {}", party.id,
                     party.host->name(), slot.attempt, slot.number, party.mutex,
                     detail::time_text(slot.time));
}

// ---- the store -----------------------------------------------------------------------------

void SlotRules::executed(const TextCall& call, const RecordAnswer& answer) {
  Mutex* mutex = find(call.mutex);
  if (mutex == nullptr || answer.outcome == RecordAnswer::Outcome::found) return;
  const bool written = answer.outcome == RecordAnswer::Outcome::written;
  constexpr std::array outcomes{"", "written", "refused: changed", "refused: not owned",
                                "refused: too early"};
  scene_.trace.event(now(), "server", "is told by [{}] what to remember of m{}: {}, version {}",
                     call.contender, call.mutex,
                     outcomes.at(static_cast<std::size_t>(answer.outcome)), answer.record.version);
  if (!written) return;
  mutex->written = now();
  const bool was_paused = mutex->record.paused;
  const bool was_triggered = mutex->record.trigger.has_value();
  mutex->record = detail::parse_slot_record(answer.record.text, mutex_name(call.mutex));
  const detail::SlotRecord& record = mutex->record;
  if (was_paused && !record.paused) mutex->resumed = now();
  if (!record.trigger) {
    mutex->trigger_since = never;
  } else {
    mutex->triggers.insert(*record.trigger);
    if (!was_triggered) mutex->trigger_since = now();
  }
  if (record.open) {
    const RunReport& run = record.open->run;
    Word& word = mutex->words[{run.number, run.attempt, run.fencing_token}];
    const auto its_own = [&](const Party* party) {
      return party->id == run.contender_id && party->host->number() == call.client;
    };
    const bool is_new = word.at == LocalTime{};
    if (is_new || word.lost) word = {now(), call.now};
    if (is_new && std::any_of(mutex->parties.begin(), mutex->parties.end(), its_own)) {
      check_owner(call.mutex, run);
    }
  }
  if (mutex->slots.empty()) return;
  auto& [number, slot] = *mutex->slots.rbegin();
  auto& [attempt, last] = *slot.attempts.rbegin();
  if (last.how != WorkEnd::well || last.recorded != never) return;
  const auto same = [&, number = number, attempt = attempt](const RunReport& run) {
    return run.number == number && run.attempt == attempt && run.outcome == RunOutcome::succeeded;
  };
  if (std::any_of(record.runs.begin(), record.runs.end(), same)) last.recorded = now();
}

/// The store notes a beginning only of one who owns.
void SlotRules::check_owner(std::size_t number, const RunReport& run) {
  const Record& record = checker_.record_of(number);
  const bool owns = record.owner == run.contender_id && run.fencing_token >= record.first &&
                    run.fencing_token <= record.token &&
                    now() < checker_.server_true(record.transition_at);
  if (owns) return;
  checker_.fail(Rule::slot_unowned,
                fmt::format("the store notes that {} begins run {} of m{} under token {}, though "
                            "[{}] owns it under {}",
                            run.contender_id, run.number, number, run.fencing_token, record.owner,
                            record.token));
}

/// What rests on what the server has forgotten has never been promised.
void SlotRules::forgot(LocalTime since, LocalTime until) {
  last_loss_ = until;
  const auto lost = [&](LocalTime at) { return at >= since && at <= until; };
  for (auto& [number, mutex] : mutexes_) {
    for (auto& [run, slot] : mutex.slots) {
      std::erase_if(slot.attempts, [&](const auto& one) { return lost(one.second.told); });
      for (auto& [attempt, one] : slot.attempts) {
        if (lost(one.recorded)) one.recorded = never;
      }
    }
    std::erase_if(mutex.slots, [](const auto& one) { return one.second.attempts.empty(); });
    for (auto& [run, word] : mutex.words) word.lost = word.lost || lost(word.at);
    const std::string& text = network_.server().text(number).text;
    mutex.record = detail::parse_slot_record(text, mutex_name(number));
    mutex.resumed = now();
    mutex.trigger_since = mutex.record.trigger ? now() : never;
  }
}

void SlotRules::note_peaks() {
  for (auto& [number, mutex] : mutexes_) mutex.peak = latest_shown(mutex);
}

SystemTime SlotRules::latest_shown(const Mutex& mutex) const {
  SystemTime latest = mutex.peak;
  for (const Party* party : mutex.parties) {
    if (party->host->crashed()) continue;
    latest = std::max(latest, network_.wall_now(party->host->number()));
  }
  return latest;
}

// ---- users ---------------------------------------------------------------------------------

bool SlotRules::begins(Party& party, const Run& run) {
  Mutex& mutex = mutexes_.at(party.mutex);
  if (!run.slot()) {
    checker_.fail(Rule::slot_order, party.id + " has work that is of no slot");
    return false;
  }
  const Slot slot = *run.slot();
  scene_.trace.event(now(), party.host->name(), "{}", words(party, slot));
  if (party.service == nullptr) return checker_.work_begins(party);
  const bool owns = party.service->is_owner() && run.lease_left() > 0ns &&
                    run.fencing_token() == party.service->fencing_token();
  if (!owns && !party.stopped) {
    checker_.fail(Rule::slot_unowned, words(party, slot) + ", though it does not lead");
  }
  if (!checker_.work_begins(party)) return false;
  ++counts_.begun;
  if (slot.attempt > 1) ++counts_.repeated;
  mutex.busy_until = now();
  const auto told = mutex.words.find({slot.number, slot.attempt, run.fencing_token()});
  if (told == mutex.words.end()) {
    checker_.fail(Rule::slot_unrecorded, words(party, slot) + ", of which the store has not heard");
    return true;
  }
  const bool triggered = mutex.triggers.contains(slot.time);
  const auto heard_in_time = [&](const auto& word) {
    return std::get<0>(word.first) == slot.number && word.second.wall >= slot.time;
  };
  if (!triggered && std::none_of(mutex.words.begin(), mutex.words.end(), heard_in_time)) {
    checker_.fail(Rule::slot_early,
                  fmt::format("{}, at {} by the clock of the store", words(party, slot),
                              detail::time_text(told->second.wall)));
  }
  if (told->second.lost) return true;
  check_number(mutex, party, slot);
  Begun& begun = mutex.slots[slot.number];
  begun.time = slot.time;
  begun.triggered = triggered;
  begun.attempts[slot.attempt] = {.told = told->second.at, .by = &party};
  return true;
}

void SlotRules::check_number(const Mutex& mutex, const Party& party, const Slot& slot) {
  const SlotOptions& options = mutex.config.slots;
  const int most = options.promise == SlotPromise::at_most_once ? 1 : options.max_attempts;
  if (slot.attempt > most) {
    checker_.fail(Rule::slot_twice, fmt::format("{}, but {} are all", words(party, slot), most));
  }
  if (mutex.slots.empty()) return;
  const auto& [last, before] = *mutex.slots.rbegin();
  if (slot.number < last) {
    checker_.fail(Rule::slot_order,
                  fmt::format("{}, but run {} had begun", words(party, slot), last));
  }
  if (slot.number == last) return check_attempt(mutex, party, slot, before);
  const bool given_up = options.while_busy == BusySlots::cancel_running || !mutex.agreed;
  if (!given_up && unfinished(mutex, last)) {
    checker_.fail(Rule::slot_dropped,
                  fmt::format("{}, but run {}, slot {}, has not ended well, and has attempts left",
                              words(party, slot), last, detail::time_text(before.time)));
  }
  if (mutex.triggers.contains(slot.time)) return;
  for (const auto& [number, other] : mutex.slots) {
    if (other.triggered || other.time < slot.time) continue;
    checker_.fail(other.time == slot.time ? Rule::slot_twice : Rule::slot_order,
                  fmt::format("{}, but run {} was of slot {}", words(party, slot), number,
                              detail::time_text(other.time)));
  }
}

void SlotRules::check_attempt(const Mutex& mutex, const Party& party, const Slot& slot,
                              const Begun& before) {
  if (slot.time != before.time) {
    checker_.fail(Rule::slot_order,
                  fmt::format("{}, but an attempt before was of slot {}", words(party, slot),
                              detail::time_text(before.time)));
  }
  const auto& [attempt, last] = *before.attempts.rbegin();
  if (slot.attempt <= attempt || mutex.config.slots.promise == SlotPromise::at_most_once) {
    checker_.fail(Rule::slot_twice,
                  fmt::format("{}, but attempt {} had begun", words(party, slot), attempt));
  }
  for (const auto& [number, one] : before.attempts) {
    if (one.recorded == never) continue;
    checker_.fail(Rule::slot_twice,
                  fmt::format("{}, but attempt {} had ended well, and the store has heard of that",
                              words(party, slot), number));
  }
}

void SlotRules::ends(Party& party, const Slot& slot, WorkEnd how) {
  Mutex& mutex = mutexes_.at(party.mutex);
  mutex.busy_until = now();
  constexpr std::array ends{"well", "badly", "with something left to do"};
  scene_.trace.event(now(), party.host->name(), "{} ends run {} {}", party.id, slot.number,
                     ends.at(static_cast<std::size_t>(how)));
  const auto found = mutex.slots.find(slot.number);
  if (found == mutex.slots.end() || !found->second.attempts.contains(slot.attempt)) return;
  Attempt& attempt = found->second.attempts.at(slot.attempt);
  if (attempt.by != &party) return;  // begun again, since the server has forgotten that it was
  attempt.ended = now();
  attempt.how = how;
}

void SlotRules::told(Party& party, const SlotEvent& event) {
  Mutex& mutex = mutexes_.at(party.mutex);
  scene_.trace.event(now(), party.host->name(), "{} is told: {} x{} (last {}, run {}), {} left; {}",
                     party.id, to_string(event.kind), event.count,
                     event.slot ? detail::time_text(event.slot->time) : "-",
                     event.slot ? event.slot->number : 0, event.attempts_left, event.message);
  if (event.kind == SlotEvent::Kind::lost) ++counts_.lost;
  const bool over = event.kind == SlotEvent::Kind::missed || event.kind == SlotEvent::Kind::skipped;
  if (!over || !event.slot) return;
  counts_.passed_over += event.count;
  const SystemTime last = event.slot->time;
  if (mutex.agreed && last_loss_ == LocalTime::min() && next_on_grid(mutex, last - 1ms) != last) {
    checker_.fail(
        Rule::slot_dropped,
        fmt::format("{} is told that slots of m{} were {}, the last {}, which is none", party.id,
                    party.mutex, to_string(event.kind), detail::time_text(last)));
  }
  const auto back = std::chrono::floor<milliseconds>(period(mutex)) * (event.count - 1);
  mutex.reported.emplace_back(event.slot->time - back, event.slot->time);
}

/// The work is over by the account of the work, but not by that of the store, which has forgotten
/// nothing since.
bool SlotRules::owes_a_word(const Party& party, FencingToken token) const {
  const auto found = mutexes_.find(party.mutex);
  if (found == mutexes_.end() || !found->second.record.open) return false;
  const RunReport& run = found->second.record.open->run;
  if (run.contender_id != party.id || run.fencing_token != token) return false;
  const auto slot = found->second.slots.find(run.number);
  if (slot == found->second.slots.end()) return false;
  const auto attempt = slot->second.attempts.find(run.attempt);
  return attempt != slot->second.attempts.end() && attempt->second.how &&
         attempt->second.ended > last_loss_;
}

// ---- peace ---------------------------------------------------------------------------------

void SlotRules::check() {
  for (auto& [number, mutex] : mutexes_) {
    if (!mutex.agreed || !follow_term(mutex)) continue;
    check_came(mutex);
    check_unfinished(mutex);
    check_record(mutex);
  }
}

/// Whether somebody leads in peace, and has done so for a while.
bool SlotRules::follow_term(Mutex& mutex) {
  const auto leads = [](const Party* party) {
    return !party->host->crashed() && party->service != nullptr && !party->stopped &&
           party->stop_began == never && party->service->is_owner() &&
           party->contends_since != never;
  };
  const auto leader = std::find_if(mutex.parties.begin(), mutex.parties.end(), leads);
  Term& term = mutex.term;
  if (leader == mutex.parties.end() || mutex.record.paused) {
    term = {};
    return false;
  }
  const Party& party = **leader;
  const FencingToken token = party.service->fencing_token();
  const LocalTime troubled = network_.calm_since(party.host->number());
  const bool calm = (troubled == LocalTime::min() || troubled < now() - recovery) &&
                    !checker_.rests_on_a_loss(party) &&
                    !party.host->has_just_woken(now() - std::min(term.since, now()));
  if (term.leader != &party || term.token != token || term.starts != party.starts || !calm) {
    term = {&party, token, party.starts, now(), latest_shown(mutex)};
  }
  return now() - term.since >= grace;
}

SystemTime SlotRules::wall(const Mutex& mutex) const {
  return network_.wall_now(mutex.term.leader->host->number());
}

/// What came while it leads was begun, or will not happen and was reported, when nothing is under
/// way any more, or a later one was begun.
void SlotRules::check_came(Mutex& mutex) {
  const bool just_resumed = now() < mutex.resumed + hearsay + grace;
  if (just_resumed || busy(mutex) || mutex.record.definition.empty()) return;
  // A run that has ended well is repeated, too, if the store has not heard of that.
  const auto& retry = mutex.record.retry;
  const bool repeats = retry
                           ? wall(mutex) < retry->at + grace
                           : !mutex.slots.empty() && unfinished(mutex, mutex.slots.rbegin()->first);
  const bool idle = now() - mutex.busy_until >= grace && !repeats;
  const SystemTime resumed = wall(mutex) - std::chrono::floor<milliseconds>(now() - mutex.resumed);
  SystemTime until = SystemTime::min();
  if (idle) {
    until = wall(mutex) - std::chrono::ceil<milliseconds>(grace + mutex.config.slots.jitter);
  } else if (!mutex.slots.empty() && now() - mutex.busy_until >= 500ms) {
    const Begun& last = mutex.slots.rbegin()->second;
    if (!last.triggered) until = last.time - 1ms;
  }
  const SystemTime first = mutex.config.cron ? SystemTime{} : mutex.record.anchor;
  const SystemTime from =
      std::max({mutex.term.from, mutex.judged_until, resumed + 1s, first - 1ms});
  for (SystemTime time = next_on_grid(mutex, from); time <= until;
       time = next_on_grid(mutex, time)) {
    const bool begun = std::any_of(mutex.slots.begin(), mutex.slots.end(), [&](const auto& one) {
      return one.second.time == time && !one.second.triggered;
    });
    mutex.judged_until = time;
    ++counts_.judged;
    if (begun || reported(mutex, time)) continue;
    checker_.fail(Rule::slot_dropped,
                  fmt::format("slot {} of m{} came while {} led, and was neither begun nor "
                              "reported by {}",
                              detail::time_text(time), mutex.term.leader->mutex,
                              mutex.term.leader->id, detail::time_text(wall(mutex))));
  }
}

bool SlotRules::reported(const Mutex& mutex, SystemTime time) const {
  return std::any_of(mutex.reported.begin(), mutex.reported.end(),
                     [&](const auto& span) { return time >= span.first && time <= span.second; });
}

/// The last attempt that the store has heard of. Its work may not have begun.
int SlotRules::last_attempt(const Mutex& mutex, std::uint64_t number) {
  const auto after = mutex.words.upper_bound({number, most_attempts, greatest_token});
  return std::get<1>(std::prev(after)->first);
}

/// It is to be begun again.
bool SlotRules::unfinished(const Mutex& mutex, std::uint64_t number) const {
  const SlotOptions& options = mutex.config.slots;
  if (options.promise == SlotPromise::at_most_once) return false;
  if (last_attempt(mutex, number) >= options.max_attempts) return false;
  const Attempt& last = mutex.slots.at(number).attempts.rbegin()->second;
  // A later attempt may have been forgotten, and have ended well.
  return last.how != WorkEnd::well && last.told > last_loss_;
}

bool SlotRules::busy(const Mutex& mutex) const {
  return std::any_of(mutex.parties.begin(), mutex.parties.end(), [](const Party* party) {
    return !party->host->crashed() && (party->inside || party->in_callback);
  });
}

void SlotRules::check_unfinished(const Mutex& mutex) {
  if (mutex.slots.empty() || busy(mutex)) return;
  const SlotOptions& options = mutex.config.slots;
  const auto& [number, slot] = *mutex.slots.rbegin();
  const int attempt = last_attempt(mutex, number);
  if (!unfinished(mutex, number)) return;
  const SystemTime due = detail::retry_time(options, attempt + 1, mutex.term.from);
  const nanoseconds pause = due - mutex.term.from;
  const SystemTime shown = wall(mutex);
  const LocalTime since = std::max({mutex.term.since, mutex.busy_until, mutex.resumed + hearsay});
  if (now() < since + pause + grace || shown < due + grace) return;
  if (options.while_busy == BusySlots::cancel_running && next_on_grid(mutex, slot.time) <= shown) {
    return;
  }
  checker_.fail(Rule::slot_dropped,
                fmt::format("run {} of m{}, slot {}, has not ended well, and its attempt {} does "
                            "not begin though {} leads",
                            number, mutex.term.leader->mutex, detail::time_text(slot.time),
                            attempt + 1, mutex.term.leader->id));
}

/// What the store says is under way, somebody does; and what was asked for, too.
void SlotRules::check_record(const Mutex& mutex) {
  if (busy(mutex)) return;
  const LocalTime since = std::max({mutex.term.since, mutex.busy_until, mutex.written});
  if (mutex.record.open && now() >= since + grace) {
    checker_.fail(Rule::slot_unrecorded,
                  fmt::format("the store says that {} runs attempt {} of run {} of m{}, but nobody "
                              "does",
                              mutex.record.open->run.contender_id, mutex.record.open->run.attempt,
                              mutex.record.open->run.number, mutex.term.leader->mutex));
  }
  const bool retries = !mutex.slots.empty() && unfinished(mutex, mutex.slots.rbegin()->first);
  if (mutex.trigger_since == never || retries) return;
  if (now() < std::max(since, mutex.trigger_since) + hearsay + grace) return;
  checker_.fail(Rule::slot_dropped, fmt::format("a run of m{} was asked for at {}, and does not "
                                                "begin though {} leads",
                                                mutex.term.leader->mutex, show(mutex.trigger_since),
                                                mutex.term.leader->id));
}

// ---- the times of slots --------------------------------------------------------------------

/// All cron expressions here are of every so many minutes.
nanoseconds SlotRules::period(const Mutex& mutex) const {
  if (!mutex.config.cron) return mutex.config.period;
  const Cron::Time from{};
  const auto first = mutex.config.cron->next(from);
  return *mutex.config.cron->next(*first) - *first;
}

SystemTime SlotRules::next_on_grid(const Mutex& mutex, SystemTime after) const {
  const auto step = std::chrono::floor<milliseconds>(period(mutex));
  const SystemTime anchor = mutex.config.cron ? SystemTime{} : mutex.record.anchor;
  const auto distance = after - anchor;
  const bool before = distance % step < 0ms;
  return anchor + (distance / step + (before ? 0 : 1)) * step;
}

}  // namespace simba::sim
