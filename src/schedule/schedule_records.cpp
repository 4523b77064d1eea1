#include "simba/schedule/schedule_records.hpp"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/text.hpp"
#include "schedule/slot_record.hpp"
#include "simba/core/error.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using detail::SlotRecord;
using std::chrono::nanoseconds;

/// How often a change is tried again since somebody else was faster.
constexpr int most_rounds = 100;

/// What comes between two requests where the store cannot be reached.
constexpr nanoseconds retry_pause = 100ms;

/// One call of `ScheduleRecords`: its requests and its deadline. Used by one thread.
class Exchange {
 public:
  enum class Persistence {
    none,          ///< an error that says that nothing was written ends the call
    until_answer,  ///< what may pass is tried again, as long as there is time
  };

  Exchange(MutexRecords& records, const Runtime& runtime, nanoseconds timeout, std::string mutex,
           std::optional<RecordOwner> owner = {})
      : records_{records},
        runtime_{runtime},
        mutex_{std::move(mutex)},
        owner_{std::move(owner)},
        timeout_{timeout},
        deadline_{deadline_after(runtime.clock->now(), timeout)},
        persistence_{owner_ ? Persistence::until_answer : Persistence::none} {}

  MutexRecord read() {
    for (;;) {
      const auto result =
          ask([&](RecordHandler handler) { records_.read(mutex_, std::move(handler)); });
      if (const auto* answer = std::get_if<RecordAnswer>(&result)) return answer->record;
      const auto& error = std::get<Error>(result);
      if (!pause_before_retry(error, Persistence::none)) throw Error{error};
    }
  }

  /// `change` is given the record and the store's time, changes it, and returns what the call
  /// returns. It may be called several times.
  template <typename Change>
  auto update(const Change& change) {
    MutexRecord found = read();
    for (int round = 0; round < most_rounds; ++round) {
      SlotRecord record = detail::parse_slot_record(found.text, mutex_);
      const SlotRecord before = record;
      auto outcome = change(record, found.now);
      if (record == before) return outcome;
      const std::string text = detail::to_text(record);
      const RecordAnswer answer = write(text, found.version);
      if (answer.outcome == RecordAnswer::Outcome::written) return outcome;
      if (answer.outcome == RecordAnswer::Outcome::not_owned) {
        throw IllegalStateError{fmt::format(
            "mutex [{}] is not owned by [{}] any more, so "
            "its run was not recorded",
            detail::excerpt(mutex_), detail::excerpt(owner_ ? owner_->contender_id : ""))};
      }
      found = answer.record;
    }
    throw Error{ErrorKind::unavailable,
                fmt::format("the record of mutex [{}] was changed by others {} times in a row; try "
                            "again",
                            detail::excerpt(mutex_), most_rounds)};
  }

 private:
  static LocalTime deadline_after(LocalTime now, nanoseconds timeout) {
    return timeout < never - now ? now + timeout : never;
  }

  /// Sends the same text until it is known what came of it. One that was in doubt and is found is
  /// written once more: only that asks replicas for their confirmation.
  RecordAnswer write(const std::string& text, std::uint64_t replaces) {
    RecordWrite request{
        .mutex = mutex_, .text = text, .replaces = replaces, .owner = owner_, .not_before = {}};
    std::optional<Error> doubt;
    for (;;) {
      auto result =
          ask([&](RecordHandler handler) { records_.write(request, std::move(handler)); });
      if (auto* answer = std::get_if<RecordAnswer>(&result)) {
        if (!doubt || answer->outcome == RecordAnswer::Outcome::written) return *answer;
        const MutexRecord& record = answer->record;
        const bool ours = record.version == request.replaces + 1 && record.text == text;
        if (ours && answer->outcome == RecordAnswer::Outcome::changed) {
          request.replaces = record.version;
          continue;
        }
        if (ours) answer->outcome = RecordAnswer::Outcome::written;
        // An earlier one of ours may be among several writes.
        if (record.version > request.replaces + 1) throw Error{*doubt};
        return *answer;
      }
      const auto& error = std::get<Error>(result);
      if (error.in_doubt()) doubt = error;
      if (!pause_before_retry(error, doubt ? Persistence::until_answer : Persistence::none)) {
        throw Error{doubt ? *doubt : error};
      }
    }
  }

  RecordResult ask(const std::function<void(RecordHandler)>& send) const {
    struct Answer {
      std::mutex mutex;
      std::condition_variable changed;
      std::optional<RecordResult> result;  // guarded by mutex
    };
    const auto answer = std::make_shared<Answer>();  // it may come when nobody waits any more
    send([answer](RecordResult result) {
      {
        const std::lock_guard lock{answer->mutex};
        answer->result = std::move(result);
      }
      answer->changed.notify_all();
    });
    std::unique_lock lock{answer->mutex};
    const auto answered = [&] { return answer->result.has_value(); };
    if (!answered()) runtime_.waiter->wait_until(lock, answer->changed, deadline_, answered);
    return std::move(answer->result)
        .value_or(
            Error{ErrorKind::timeout,
                  fmt::format("no answer from the store within {} about the record of mutex [{}]",
                              detail::seconds_text(timeout_), detail::excerpt(mutex_))});
  }

  /// True when the request may be sent again; false if it shall not.
  bool pause_before_retry(const Error& error, Persistence persistence) const {
    const bool passes = error.in_doubt() || persistence == Persistence::until_answer ||
                        persistence_ == Persistence::until_answer;
    const LocalTime until = runtime_.clock->now() + retry_pause;
    if (!error.is_transient() || !passes || until >= deadline_) return false;
    std::mutex mutex;
    std::condition_variable changed;
    // cppcheck-suppress localMutex ; there is nothing to wait for but time
    std::unique_lock lock{mutex};
    runtime_.waiter->wait_until(lock, changed, until, [] { return false; });
    return true;
  }

  MutexRecords& records_;
  const Runtime& runtime_;
  const std::string mutex_;
  const std::optional<RecordOwner> owner_;
  const nanoseconds timeout_;
  const LocalTime deadline_;
  const Persistence persistence_;
};

IllegalStateError not_under_way(const std::string& mutex, std::uint64_t number) {
  return IllegalStateError{
      fmt::format("run {} of mutex [{}] is not under way", number, detail::excerpt(mutex))};
}

}  // namespace

ScheduleRecords::ScheduleRecords(std::shared_ptr<MutexRecords> records,
                                 std::shared_ptr<const Runtime> runtime, nanoseconds timeout)
    : records_{std::move(records)}, runtime_{std::move(runtime)}, timeout_{timeout} {
  if (!records_) {
    throw Error{ErrorKind::unsupported,
                "this store keeps no records, so it has neither shared slots nor a history"};
  }
}

void ScheduleRecords::check_key(std::string_view key) { detail::check_key(key); }

ScheduleReport ScheduleRecords::report(const std::string& mutex) const {
  const auto found = Exchange{*records_, *runtime_, timeout_, mutex}.read();
  return detail::report_of(detail::parse_slot_record(found.text, mutex));
}

bool ScheduleRecords::pause(const std::string& mutex) const {
  return Exchange{*records_, *runtime_, timeout_, mutex}.update(
      [&](SlotRecord& record, SystemTime) { return detail::pause_slots(record, mutex); });
}

bool ScheduleRecords::resume(const std::string& mutex) const {
  return Exchange{*records_, *runtime_, timeout_, mutex}.update(
      [&](SlotRecord& record, SystemTime) { return detail::resume_slots(record, mutex); });
}

bool ScheduleRecords::trigger(const std::string& mutex) const {
  return Exchange{*records_, *runtime_, timeout_, mutex}.update(
      [&](SlotRecord& record, SystemTime now) { return detail::trigger_run(record, mutex, now); });
}

ScheduleRecords::Begun ScheduleRecords::begin(const std::string& mutex, const RecordOwner& owner,
                                              std::string_view key,
                                              const SlotOptions& options) const {
  return Exchange{*records_, *runtime_, timeout_, mutex, owner}.update(
      [&](SlotRecord& record, SystemTime now) {
        return detail::begin_key(record, mutex, owner, key, options, now);
      });
}

void ScheduleRecords::end(const std::string& mutex, const RecordOwner& owner, std::uint64_t number,
                          RunOutcome outcome, std::optional<int> exit_code,
                          std::string_view message, std::string_view output) const {
  const detail::RunEnd end{.outcome = outcome,
                           .exit_code = exit_code,
                           .message = std::string{message},
                           .output = std::string{output}};
  const bool open = Exchange{*records_, *runtime_, timeout_, mutex, owner}.update(
      [&](SlotRecord& record, SystemTime now) {
        return detail::end_key(record, owner, number, end, SlotOptions{}, now);
      });
  if (!open) throw not_under_way(mutex, number);
}

void ScheduleRecords::give_back(const std::string& mutex, const RecordOwner& owner,
                                std::uint64_t number) const {
  const bool open = Exchange{*records_, *runtime_, timeout_, mutex, owner}.update(
      [&](SlotRecord& record, SystemTime) { return detail::give_back_key(record, owner, number); });
  if (!open) throw not_under_way(mutex, number);
}

}  // namespace simba
