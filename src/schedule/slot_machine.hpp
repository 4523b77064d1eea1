#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "schedule/slot_record.hpp"
#include "schedule/slot_times.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/core/random.hpp"
#include "simba/schedule/run.hpp"
#include "simba/schedule/schedule_config.hpp"

namespace simba::detail {

/// Decides what the leader of a schedule with shared slots does, from what the store remembers of
/// it. Pure: no threads, no store and no clock. Decision 033 has its states as a table.
///
/// There is one request at a time. A slot's work may run when an action says `begun`, and only if
/// the lease still lasts by the local clock then. From the request to begin it until `over`, and
/// while what happens to slots is written (`busy()`), the mutex must not be given back, as long as
/// the lease lasts: what has happened is told first.
class SlotMachine {
 public:
  struct Request {
    std::uint64_t id = 0;
    std::optional<RecordWrite> write{};  ///< not set: the record is to be read
  };

  /// What is to be done, in this order.
  struct Actions {
    bool cancel = false;              ///< the work is to be told to stop
    std::vector<SlotEvent> events{};  ///< to be told before anything else of this schedule runs
    std::optional<Slot> begun{};      ///< answered by `work_ended` or `not_started`
    bool over = false;                ///< a run, and what had to be recorded of it
    std::optional<Request> request{};
  };

  /// `random` outlives it.
  SlotMachine(std::string mutex, std::string contender_id, const ScheduleConfig& config,
              Random& random);

  /// A term begins, under this token.
  Actions lead(FencingToken token, LocalTime now);

  /// Not an answer to the last request of this term: nothing happens.
  Actions answer(std::uint64_t request, const RecordResult& result, LocalTime now);

  /// It is `wake_at()`, or later. Earlier, nothing happens.
  Actions due(LocalTime now);

  Actions work_ended(const RunEnd& end, LocalTime now);

  /// The work that was begun has not been started and will not be: another begins that attempt.
  Actions not_started(LocalTime now);

  /// An exception has kept what was decided last from being done. It is decided again a little
  /// later.
  void interrupted(LocalTime now) noexcept;

  /// Nothing more is to begin in this term. What is under way is brought to its end.
  Actions stop(LocalTime now);

  /// The term is over: nothing can be written any more.
  void end_term();

  LocalTime wake_at() const noexcept { return wake_; }
  bool busy() const noexcept;

 private:
  enum class State {
    following,  // no requests
    reading,    // the record is asked for, or will be at `wake_`
    settling,   // a write that begins nothing is under way
    waiting,    // for the next slot or look
    beginning,  // a write that begins a slot is under way
    running,    // the work has begun
    ending,     // how it ended is to be written: a write is under way, or comes at `wake_`
  };

  Actions read();
  Actions decide(LocalTime now);
  Actions wait(LocalTime now);
  Actions write(SlotRecord next, std::optional<SystemTime> not_before);
  Actions write_end(LocalTime now);
  Actions begun();
  Actions finished(LocalTime now);
  Actions failed(const Error& error, LocalTime now);
  Actions answered(const RecordAnswer& answer, LocalTime now);
  bool learn(const MutexRecord& record, LocalTime now, Actions& actions);
  bool names_us(const RunReport& run) const noexcept;
  std::optional<Slot> open_slot_of_ours() const noexcept;
  bool has_begun_ours() const noexcept;
  SlotEvent stalled(std::string message) const;

  void register_definition(SlotRecord& next, SystemTime now);
  void change_times(SlotRecord& next, SystemTime now);
  void drop_slots(SlotRecord& next, SystemTime now);
  void end_lost_run(SlotRecord& next, SystemTime now);
  void tell_dropped_retry();
  void settle(SlotRecord& next, SystemTime now, bool busy);
  void settle_until(SlotRecord& next, SystemTime until, bool busy);
  void settle_busy(SlotRecord& next, const SlotTimes::Span& span);
  void settle_idle(SlotRecord& next, const SlotTimes::Span& span);
  void expire_owed(SlotRecord& next, SystemTime now);
  std::optional<Slot> choose(SlotRecord& next, SystemTime now);
  std::optional<SystemTime> due_at(const SlotRecord& record) const;
  std::optional<SystemTime> first_unsettled(const SlotRecord& record) const;
  SystemTime with_jitter(SystemTime slot) const;
  void tell(SlotEvent::Kind kind, std::optional<Slot> slot, std::uint64_t count = 1,
            int attempts_left = 0, std::string message = {});

  SystemTime store_time(LocalTime now) const;
  LocalTime local_time(SystemTime time) const;
  LocalTime next_look(LocalTime now) const;
  std::chrono::nanoseconds backoff();

  // constant after construction
  const std::string mutex_;
  const std::string contender_id_;
  const std::string id_in_record_;
  const SlotOptions options_;
  const std::chrono::milliseconds initial_delay_;
  const std::optional<std::chrono::milliseconds> period_;
  const SlotTimes times_;
  const std::string definition_;
  const std::string fingerprint_;
  const std::string options_fingerprint_;
  Random& random_;

  // of a term
  State state_ = State::following;
  RecordOwner owner_{};
  bool stopping_ = false;
  std::uint64_t requests_ = 0;
  bool asked_ = false;  // request number `requests_` is under way
  LocalTime wake_ = never;
  LocalTime look_ = never;

  // what the store has said last, and when
  SlotRecord record_{};
  std::uint64_t version_ = 0;
  std::uint64_t text_read_ = 0;  // its hash
  bool readable_ = false;
  SystemTime answered_at_{};
  LocalTime heard_at_{};

  std::optional<SystemTime> ready_{};  // slots before that have passed while nobody was
  std::vector<SlotEvent> untold_{};    // told once what they say is written
  std::string text_{};                 // of the last write, until it is known to be carried out
  bool begin_in_doubt_ = false;
  Slot slot_{};                  // that is begun
  std::optional<RunEnd> end_{};  // of the work; not set while ending: it was not started
  std::deque<Slot> ran_{};       // the last ones whose work has ended
  bool cancelled_ = false;       // by `BusySlots::cancel_running`
  int failures_ = 0;             // of requests, one after another
  bool refused_ = false;         // the last write that was answered
  bool told_delay_ = false;
  bool told_ahead_ = false;  // that the last slot is of a time to come
};

}  // namespace simba::detail
