#include "schedule/slot_record.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba::detail {
namespace {

using RecordJson = nlohmann::ordered_json;

constexpr int record_format = 1;

/// Ids are bounded by the stores, but not by what someone else may have written.
constexpr std::size_t longest_id = 300;

/// Times that calendars can show.
constexpr SystemTime earliest_time{std::chrono::sys_days{std::chrono::year{1} / 1 / 1}};
constexpr SystemTime latest_time{std::chrono::sys_days{std::chrono::year{9999} / 1 / 1}};

constexpr std::array outcomes{RunOutcome::running, RunOutcome::succeeded, RunOutcome::failed,
                              RunOutcome::cancelled, RunOutcome::lost};

/// As UTF-8: other bytes as `\x1b`.
std::string as_utf8(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const auto first = first_code_point(text);
    if (first) {
      clean += text.substr(0, first->size);
    } else {
      clean += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(first ? first->size : 1);
  }
  return clean;
}

bool continues(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::string head_of(std::string_view text, std::size_t most) {
  std::string clean = as_utf8(text.substr(0, most + 4));
  if (clean.size() <= most) return clean;
  while (most > 0 && continues(clean[most])) --most;
  clean.resize(most);
  return clean;
}

std::string tail_of(std::string_view text, std::size_t most) {
  if (text.size() > most + 4) text.remove_prefix(text.size() - most - 4);
  std::string clean = as_utf8(text);
  if (clean.size() <= most) return clean;
  std::size_t from = clean.size() - most;
  while (from < clean.size() && continues(clean[from])) ++from;
  return clean.substr(from);
}

// ---- writing ---------------------------------------------------------------------------------

std::int64_t json_time(SystemTime time) { return time.time_since_epoch().count(); }

RecordJson json_of(const RunReport& run) {
  RecordJson json{{"slot", head_of(run.slot, longest_key)},
                  {"number", run.number},
                  {"attempt", run.attempt},
                  {"outcome", to_string(run.outcome)},
                  {"contender", id_in_record(run.contender_id)},
                  {"token", run.fencing_token},
                  {"begun", json_time(run.begun)}};
  if (run.ended) json["ended"] = json_time(*run.ended);
  if (run.exit_code) json["exit_code"] = *run.exit_code;
  if (!run.message.empty()) json["message"] = head_of(run.message, longest_message);
  if (!run.output.empty()) json["output"] = tail_of(run.output, longest_output);
  return json;
}

RecordJson json_of(const SlotRecord& record) {
  RecordJson json{{"format", record_format}};
  if (!record.definition.empty()) {
    json["definition"] = head_of(record.definition, longest_definition);
    json["fingerprint"] = head_of(record.fingerprint, longest_fingerprint);
    json["options"] = head_of(record.options, longest_fingerprint);
    json["anchor"] = json_time(record.anchor);
    json["settled"] = json_time(record.settled);
  }
  if (record.next) json["next"] = json_time(*record.next);
  if (record.last) json["last"] = json_time(*record.last);
  json["number"] = record.number;
  if (record.open) {
    json["open"] = json_of(record.open->run);
    if (record.open->time) json["open"]["time"] = json_time(*record.open->time);
  }
  if (record.retry) {
    const auto& [slot, at] = *record.retry;
    json["retry"] = {{"time", json_time(slot.time)},
                     {"number", slot.number},
                     {"attempt", slot.attempt},
                     {"at", json_time(at)}};
  }
  if (record.owed) {
    json["owed"] = {{"after", json_time(record.owed->after)},
                    {"until", json_time(record.owed->until)}};
  }
  if (record.paused) json["paused"] = true;
  if (record.trigger) json["trigger"] = json_time(*record.trigger);
  for (const RunReport& run : record.runs) json["runs"].push_back(json_of(run));
  for (const auto& [key, number, attempt, outcome] : record.keys) {
    json["keys"].push_back({head_of(key, longest_key), number, attempt, to_string(outcome)});
  }
  return json;
}

// ---- reading ---------------------------------------------------------------------------------

/// Thrown inside this file, and by the library for what is not of the expected type.
[[noreturn]] void damaged(const std::string& what) { throw std::runtime_error{what}; }

template <std::integral Number>
Number number_in(const RecordJson& json, Number least,
                 Number most = std::numeric_limits<Number>::max()) {
  const bool fits = json.is_number_unsigned() ? std::in_range<Number>(json.get<std::uint64_t>())
                                              : json.is_number_integer() &&
                                                    std::in_range<Number>(json.get<std::int64_t>());
  if (!fits) damaged("a number is missing or out of range");
  const auto number = json.get<Number>();
  if (number < least || number > most) damaged(fmt::format("{} is out of range", number));
  return number;
}

SystemTime time_in(const RecordJson& json) {
  return SystemTime{std::chrono::milliseconds{
      number_in<std::int64_t>(json, json_time(earliest_time), json_time(latest_time))}};
}

template <typename Read>
auto optional_in(const RecordJson& json, const char* name, const Read& read)
    -> std::optional<decltype(read(json))> {
  const auto found = json.find(name);
  if (found == json.end()) return std::nullopt;
  return read(*found);
}

std::optional<SystemTime> optional_time_in(const RecordJson& json, const char* name) {
  return optional_in(json, name, time_in);
}

std::string text_in(const RecordJson& json, const char* name) {
  return optional_in(json, name, [](const RecordJson& text) { return text.get<std::string>(); })
      .value_or(std::string{});
}

RunOutcome outcome_in(const RecordJson& json) {
  const auto name = json.get<std::string>();
  const auto found = std::find_if(outcomes.begin(), outcomes.end(),
                                  [&](RunOutcome outcome) { return to_string(outcome) == name; });
  if (found == outcomes.end()) damaged("unknown outcome \"" + excerpt(name) + "\"");
  return *found;
}

int attempt_in(const RecordJson& json) { return number_in(json, 1); }

/// Zero is for what has not begun.
std::uint64_t run_number_in(const RecordJson& json) {
  return number_in<std::uint64_t>(json, 0, std::numeric_limits<std::int64_t>::max());
}

RunReport run_in(const RecordJson& json) {
  RunReport run{.slot = json.at("slot").get<std::string>(),
                .number = run_number_in(json.at("number")),
                .attempt = attempt_in(json.at("attempt")),
                .outcome = outcome_in(json.at("outcome")),
                .contender_id = json.at("contender").get<std::string>(),
                .fencing_token = number_in<FencingToken>(json.at("token"), 0),
                .begun = time_in(json.at("begun")),
                .ended = optional_time_in(json, "ended"),
                .exit_code = {},
                .message = text_in(json, "message"),
                .output = text_in(json, "output")};
  run.exit_code = optional_in(json, "exit_code", [](const RecordJson& code) {
    return number_in(code, std::numeric_limits<int>::min());
  });
  return run;
}

SlotRecord::Open open_in(const RecordJson& json) {
  return {.run = run_in(json), .time = optional_time_in(json, "time")};
}

SlotRecord::Retry retry_in(const RecordJson& json) {
  return {.slot = {.time = time_in(json.at("time")),
                   .number = run_number_in(json.at("number")),
                   .attempt = attempt_in(json.at("attempt"))},
          .at = time_in(json.at("at"))};
}

SlotRecord::Owed owed_in(const RecordJson& json) {
  return {.after = time_in(json.at("after")), .until = time_in(json.at("until"))};
}

SlotRecord::Key key_in(const RecordJson& json) {
  return {.key = json.at(0).get<std::string>(),
          .number = run_number_in(json.at(1)),
          .attempt = attempt_in(json.at(2)),
          .outcome = outcome_in(json.at(3))};
}

template <typename Read>
auto list_in(const RecordJson& json, const char* name, const Read& read)
    -> std::vector<decltype(read(json))> {
  std::vector<decltype(read(json))> list;
  const auto found = json.find(name);
  if (found == json.end()) return list;
  if (!found->is_array()) damaged(fmt::format("\"{}\" is not a list", name));
  list.reserve(found->size());
  for (const auto& item : *found) list.push_back(read(item));
  return list;
}

SlotRecord record_in(const RecordJson& json) {
  SlotRecord record;
  record.definition = text_in(json, "definition");
  if (!record.definition.empty()) {
    record.fingerprint = json.at("fingerprint").get<std::string>();
    record.options = text_in(json, "options");
    record.anchor = time_in(json.at("anchor"));
    record.settled = time_in(json.at("settled"));
  }
  record.next = optional_time_in(json, "next");
  record.last = optional_time_in(json, "last");
  record.number = run_number_in(json.at("number"));
  record.open = optional_in(json, "open", open_in);
  record.retry = optional_in(json, "retry", retry_in);
  record.owed = optional_in(json, "owed", owed_in);
  record.paused = optional_in(json, "paused", [](const RecordJson& paused) {
                    return paused.get<bool>();
                  }).value_or(false);
  record.trigger = optional_time_in(json, "trigger");
  record.runs = list_in(json, "runs", run_in);
  record.keys = list_in(json, "keys", key_in);
  return record;
}

void check_registered(const SlotRecord& record, std::string_view mutex) {
  if (!record.definition.empty()) return;
  throw IllegalStateError{fmt::format(
      "no schedule is registered as [{}]; start it once, or check the name and the store",
      excerpt(mutex))};
}

std::vector<SlotRecord::Key>::iterator find_key(SlotRecord& record, std::string_view key) {
  return std::find_if(record.keys.begin(), record.keys.end(),
                      [key](const SlotRecord::Key& one) { return one.key == key; });
}

/// Whether this run of a key is open, under this owner.
bool is_open(const SlotRecord& record, const RecordOwner& owner, std::uint64_t number) {
  return record.open && !record.open->time && record.open->run.number == number &&
         record.open->run.contender_id == id_in_record(owner.contender_id) &&
         record.open->run.fencing_token == owner.fencing_token;
}

/// The last run of a key, as far as it is known.
RunReport run_of(const SlotRecord& record, const SlotRecord::Key& key) {
  const auto found =
      std::find_if(record.runs.rbegin(), record.runs.rend(), [&key](const RunReport& run) {
        return run.number == key.number && run.attempt == key.attempt;
      });
  if (found != record.runs.rend()) return *found;
  RunReport run;
  run.slot = key.key;
  run.number = key.number;
  run.attempt = key.attempt;
  run.outcome = key.outcome;
  return run;
}

/// What one more run would have to say, if it is of this slot.
SlotRecord::Open opened(std::string slot, std::uint64_t number, int attempt,
                        const RecordOwner& owner, SystemTime now) {
  SlotRecord::Open open;
  open.run.slot = std::move(slot);
  open.run.number = number;
  open.run.attempt = attempt;
  open.run.contender_id = owner.contender_id;
  open.run.fencing_token = owner.fencing_token;
  open.run.begun = now;
  return open;
}

}  // namespace

SlotRecord parse_slot_record(std::string_view text, std::string_view mutex) {
  if (text.empty()) return {};
  try {
    const auto json = RecordJson::parse(text);
    if (!json.is_object()) damaged("it is not an object");
    const auto format = number_in<std::int64_t>(json.at("format"), 1);
    if (format > record_format) {
      throw Error{ErrorKind::unsupported,
                  fmt::format("the record of mutex [{}] was written by a newer version of Simba "
                              "(format {}; this version reads format {}); nothing was changed; "
                              "upgrade Simba on this host",
                              excerpt(mutex), format, record_format)};
    }
    return record_in(json);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error{ErrorKind::internal,
                fmt::format("the record of mutex [{}] in the store is damaged ({}); nothing was "
                            "changed; restore it from a backup, or delete it: its schedule then "
                            "starts over",
                            excerpt(mutex), excerpt(error.what()))};
  }
}

std::string to_text(const SlotRecord& record) {
  auto json = json_of(record);
  std::string text = json.dump();
  std::size_t size = text.size();
  const auto fits = [&size] { return size <= MutexRecords::most_bytes; };
  if (fits()) return text;
  if (json.contains("runs")) {
    for (auto& run : json["runs"]) {
      if (fits()) break;
      if (!run.contains("output")) continue;
      size -= run["output"].dump().size();
      run.erase("output");
    }
  }
  for (const char* name : {"runs", "keys"}) {
    if (!json.contains(name)) continue;
    auto& list = json[name];
    while (!fits() && !list.empty()) {
      size -= list.front().dump().size();
      list.erase(list.begin());
    }
  }
  return json.dump();
}

std::string time_text(SystemTime time) {
  time = std::clamp(time, earliest_time, latest_time);
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss of_day{time - day};
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  of_day.hours().count(), of_day.minutes().count(), of_day.seconds().count());
  if (of_day.subseconds().count() != 0) text += fmt::format(".{:03}", of_day.subseconds().count());
  return text + "Z";
}

SystemTime retry_time(const SlotOptions& options, int next, SystemTime ended) {
  using std::chrono::milliseconds;
  constexpr milliseconds longest = std::chrono::hours{1};
  auto pause = std::chrono::ceil<milliseconds>(options.retry_pause);
  for (int attempt = 2; attempt < next && pause < longest && pause > milliseconds::zero();
       ++attempt) {
    pause = std::min(pause * 2, longest);
  }
  return ended + pause;
}

Slot begin_run(SlotRecord& record, Slot slot, const RecordOwner& owner, SystemTime now) {
  if (slot.number == 0) slot.number = ++record.number;
  record.open = opened(time_text(slot.time), slot.number, slot.attempt, owner, now);
  record.open->time = slot.time;
  return slot;
}

std::string id_in_record(std::string_view contender_id) {
  return head_of(contender_id, longest_id);
}

int end_run(SlotRecord& record, const RunEnd& end, const SlotOptions& options, SystemTime now) {
  if (!record.open) return 0;
  RunReport run = std::move(record.open->run);
  const auto time = record.open->time;
  record.open.reset();
  run.outcome = end.outcome;
  run.ended = now;
  run.exit_code = end.exit_code;
  run.message = head_of(end.message, longest_message);
  run.output = tail_of(end.output, longest_output);
  const bool again =
      end.outcome != RunOutcome::succeeded && options.promise == SlotPromise::at_least_once;
  const int left = again ? std::max(options.max_attempts - run.attempt, 0) : 0;
  if (time && left > 0) {
    record.retry = {{*time, run.number, run.attempt + 1},
                    retry_time(options, run.attempt + 1, now)};
  }
  if (!time) {
    const auto key = find_key(record, run.slot);
    if (key != record.keys.end()) key->outcome = end.outcome;
  }
  record.runs.push_back(std::move(run));
  const auto most = static_cast<std::size_t>(options.history);
  if (record.runs.size() > most) {
    record.runs.erase(record.runs.begin(), record.runs.end() - static_cast<std::ptrdiff_t>(most));
  }
  return left;
}

bool pause_slots(SlotRecord& record, std::string_view mutex) {
  check_registered(record, mutex);
  return !std::exchange(record.paused, true);
}

bool resume_slots(SlotRecord& record, std::string_view mutex) {
  check_registered(record, mutex);
  return std::exchange(record.paused, false);
}

bool trigger_run(SlotRecord& record, std::string_view mutex, SystemTime now) {
  check_registered(record, mutex);
  if (record.trigger) return false;
  record.trigger = now;
  return true;
}

ScheduleReport report_of(const SlotRecord& record) {
  ScheduleReport report{.definition = record.definition,
                        .paused = record.paused,
                        .last_slot = record.last,
                        .next_slot = record.next,
                        .runs = record.runs};
  if (record.open) report.runs.push_back(record.open->run);
  return report;
}

void check_key(std::string_view key) {
  if (key.empty()) throw InvalidArgumentError{"a key must not be empty"};
  if (key.size() > longest_key) {
    throw InvalidArgumentError{
        fmt::format("a key must not be longer than {} bytes (got {}: \"{}\")", longest_key,
                    key.size(), excerpt(key, 40))};
  }
  if (printable(key) != key) {
    throw InvalidArgumentError{
        fmt::format("a key must be printable UTF-8 (got \"{}\")", excerpt(key))};
  }
}

ScheduleRecords::Begun begin_key(SlotRecord& record, std::string_view mutex,
                                 const RecordOwner& owner, std::string_view key,
                                 const SlotOptions& options, SystemTime now) {
  check_key(key);
  options.check();
  if (!record.definition.empty()) {
    throw IllegalStateError{fmt::format("mutex [{}] belongs to a schedule ({}); use another name",
                                        excerpt(mutex), excerpt(record.definition))};
  }
  // We own the mutex, so whoever began it does not any more, or has forgotten it.
  if (record.open) {
    end_run(record, {.outcome = RunOutcome::lost, .exit_code = {}, .message = {}, .output = {}},
            options, now);
  }
  auto found = find_key(record, key);
  if (found != record.keys.end()) {
    const bool may_repeat = options.promise == SlotPromise::at_least_once &&
                            found->outcome != RunOutcome::succeeded &&
                            found->attempt < options.max_attempts;
    if (!may_repeat) return {.slot = {}, .done = run_of(record, *found)};
    ++found->attempt;
    found->outcome = RunOutcome::running;
  } else {
    record.keys.push_back({std::string{key}, ++record.number, 1, RunOutcome::running});
    if (record.keys.size() > most_keys) record.keys.erase(record.keys.begin());
    found = record.keys.end() - 1;
  }
  record.open = opened(found->key, found->number, found->attempt, owner, now);
  return {.slot = Slot{now, found->number, found->attempt}, .done = {}};
}

bool end_key(SlotRecord& record, const RecordOwner& owner, std::uint64_t number, const RunEnd& end,
             const SlotOptions& options, SystemTime now) {
  if (!is_open(record, owner, number)) return false;
  end_run(record, end, options, now);
  return true;
}

bool give_back_key(SlotRecord& record, const RecordOwner& owner, std::uint64_t number) {
  if (!record.open || !is_open(record, owner, number)) return false;
  const auto key = find_key(record, record.open->run.slot);
  record.open.reset();
  if (key == record.keys.end()) return true;
  if (key->attempt == 1) {
    record.keys.erase(key);
    return true;
  }
  --key->attempt;
  key->outcome = RunOutcome::lost;  // if it is no longer in the history
  key->outcome = run_of(record, *key).outcome;
  return true;
}

}  // namespace simba::detail
