#include "cli/serve/board.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/output/run_report.hpp"
#include "simba/client/owner.hpp"

namespace simba::cli::serve {
namespace {

using engine::MutexEntry;
using std::chrono::milliseconds;

/// How many changes a reader gets at once, and how many removed mutexes are remembered for it. One
/// that has missed more begins again.
constexpr std::size_t most_news = 2'000;

/// An end of a lease that moves by less has not moved: looks take time.
constexpr milliseconds least_renewal{300};

milliseconds duration_of(const Look& look) {
  return std::max(look.answered - look.asked, milliseconds::zero());
}

/// When the store was asked about one of many mutexes, give or take half of the look.
WallTime middle_of(const Look& look) { return look.asked + duration_of(look) / 2; }

std::optional<WallTime> end_of(const MutexEntry& entry, const Look& look) {
  if (entry.owner_id.empty() || !entry.left) return std::nullopt;
  // A lease of a stranger may say anything.
  constexpr milliseconds longest = std::chrono::hours{24 * 365};
  return middle_of(look) + std::clamp(*entry.left, milliseconds::zero(), longest);
}

Json time_or_null(const std::optional<WallTime>& time) {
  return time ? Json(to_utc(*time)) : Json(nullptr);
}

Json id_json(const std::shared_ptr<const std::string>& id) {
  return id->empty() ? Json(nullptr) : Json(*id);
}

std::string to_text(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// `,"name":[texts]`
void append_array(std::string& document, std::string_view name,
                  const std::vector<std::string_view>& texts) {
  if (!document.empty()) document += ',';
  document.append("\"").append(name).append("\":[");
  for (const std::string_view& text : texts) {
    if (&text != &texts.front()) document += ',';
    document += text;
  }
  document += ']';
}

}  // namespace

std::string_view to_string(Change change) noexcept {
  switch (change) {
    case Change::seen:
      return "seen";
    case Change::acquired:
      return "acquired";
    case Change::released:
      return "released";
    case Change::expired:
      return "expired";
    case Change::handed_over:
      return "handed_over";
    case Change::taken_over:
      return "taken_over";
    case Change::forced:
      return "forced";
    case Change::removed:
      break;
  }
  return "removed";
}

void Board::looked(const Look& look) {
  const std::uint64_t before = revision_;
  ++revision_;
  bool changed = !has_looked_;
  std::map<std::string, Row, std::less<>> unseen = std::exchange(rows_, {});
  for (const MutexEntry& entry : look.entries) {
    auto node = unseen.extract(entry.mutex);
    const bool is_new = node.empty();
    const auto [at, inserted] = is_new
                                    ? rows_.try_emplace(entry.mutex)
                                    : std::pair{rows_.insert(rows_.end(), std::move(node)), true};
    if (!inserted) continue;  // listed twice
    changed =
        (is_new ? first_seen(at->second, entry, look) : update(at->second, entry, look)) || changed;
  }
  for (const auto& [name, row] : unseen) {
    changed = true;
    note_removed(row, look.answered);
  }
  if (!unseen.empty()) {
    std::erase_if(schedules_, [&](const std::string& name) { return unseen.contains(name); });
  }
  if (!std::exchange(has_looked_, true)) history_from_ = look.answered;
  if (!changed) revision_ = before;
}

bool Board::first_seen(Row& row, const MutexEntry& entry, const Look& look) {
  row.id = ++last_id_;
  row.name = std::make_shared<const std::string>(entry.mutex);
  row.before = std::make_shared<const std::string>();
  row.owner =
      entry.owner_id.empty() ? row.before : std::make_shared<const std::string>(entry.owner_id);
  row.token = entry.fencing_token;
  row.session = !entry.owner_id.empty() && !entry.left;
  row.changed = look.answered;
  row.what = has_looked_ && !entry.owner_id.empty() ? Change::acquired : Change::seen;
  row.since = look.answered;
  if (!has_looked_) {
    row.owned_before = true;
    // A session tells since when; a lease tells only when it was renewed last.
    if (row.session && entry.acquired_at > StoreTime{}) {
      row.since = shown(entry.acquired_at);
      row.owned_before = false;
    }
  }
  row.ends = end_of(entry, look);
  row.lease = options_.usual_lease;
  if (row.ends) row.lease = std::max(row.lease, *row.ends - middle_of(look));
  row.waiting = entry.waiting;
  row.revision = revision_;
  row.lease_revision = revision_;
  if (row.what != Change::seen) note(row);
  return true;
}

bool Board::update(Row& row, const MutexEntry& entry, const Look& look) {
  const bool same_owner = *row.owner == entry.owner_id;
  const bool renewed = same_owner && renew(row, entry, look);
  const bool session = !entry.owner_id.empty() && !entry.left;
  if (same_owner && row.session == session && row.waiting == entry.waiting) {
    return renewed;
  }
  row.text.clear();
  row.revision = revision_;
  row.waiting = entry.waiting;
  row.session = session;
  row.token = entry.fencing_token;
  if (same_owner) return true;
  row.what = judge(row, entry, look);
  row.before = std::exchange(row.owner, std::make_shared<const std::string>(entry.owner_id));
  row.changed = look.answered;
  row.since = look.answered;
  row.owned_before = false;
  row.ends = end_of(entry, look);
  if (row.ends) row.lease = std::max(options_.usual_lease, *row.ends - middle_of(look));
  row.lease_revision = revision_;
  note(row);
  return true;
}

bool Board::renew(Row& row, const MutexEntry& entry, const Look& look) const {
  const auto ends = end_of(entry, look);
  const milliseconds tolerance = std::max(least_renewal, duration_of(look));
  const bool same_end = ends && row.ends ? std::chrono::abs(*ends - *row.ends) < tolerance
                                         : ends.has_value() == row.ends.has_value();
  // Tokens of some stores grow with every renewal.
  if (same_end && row.token == entry.fencing_token) return false;
  row.ends = ends;
  row.token = entry.fencing_token;
  if (ends) row.lease = std::max(row.lease, *ends - middle_of(look));
  row.lease_revision = revision_;
  row.text.clear();
  return true;
}

Change Board::judge(const Row& row, const MutexEntry& entry, const Look& look) {
  if (const auto forced = forced_.extract(*row.name); forced && forced.mapped() == *row.owner) {
    return Change::forced;
  }
  if (row.owner->empty()) return Change::acquired;
  const bool over = row.ends && *row.ends <= look.answered + least_renewal / 3;
  if (entry.owner_id.empty()) return over ? Change::expired : Change::released;
  return over ? Change::taken_over : Change::handed_over;
}

void Board::note(const Row& row) {
  events_.push_back({.revision = revision_,
                     .at = row.changed,
                     .id = row.id,
                     .mutex = row.name,
                     .before = row.before,
                     .owner = row.owner,
                     .token = row.token,
                     .what = row.what});
  while (events_.size() > options_.history) {
    oldest_ = events_.front().revision;
    history_from_ = std::max(history_from_, events_.front().at);
    events_.pop_front();
  }
}

void Board::note_removed(const Row& row, WallTime at) {
  Row last = row;
  last.before = row.owner;
  last.owner = std::make_shared<const std::string>();
  last.changed = at;
  last.what = Change::removed;
  note(last);
  removed_.emplace_back(revision_, row.id);
  while (removed_.size() > most_news) {
    oldest_ = std::max(oldest_, removed_.front().first);
    removed_.pop_front();
  }
}

void Board::reported(const std::string& mutex, const ScheduleReport& report) {
  const auto at = rows_.find(mutex);
  if (at == rows_.end()) return;
  Row& row = at->second;
  const auto same = [](const ScheduleReport& a, const ScheduleReport& b) {
    return a.definition == b.definition && a.paused == b.paused && a.last_slot == b.last_slot &&
           a.next_slot == b.next_slot && a.runs == b.runs;
  };
  const bool has = !report.definition.empty() || !report.runs.empty();
  if (has ? row.schedule && same(*row.schedule, report) : !row.schedule) return;
  if (has != row.schedule.has_value()) {
    if (has) {
      schedules_.push_back(mutex);
    } else {
      std::erase(schedules_, mutex);
    }
  }
  row.schedule = has ? std::optional{report} : std::nullopt;
  row.text.clear();
  row.revision = ++revision_;
}

std::vector<std::string> Board::names_after(std::string_view name, std::size_t most) const {
  std::vector<std::string> names;
  for (auto at = rows_.upper_bound(name); at != rows_.end() && names.size() < most; ++at) {
    names.push_back(at->first);
  }
  return names;
}

std::optional<std::string> Board::owner_of(std::string_view mutex) const {
  const auto at = rows_.find(mutex);
  if (at == rows_.end()) return std::nullopt;
  return *at->second.owner;
}

std::string Board::all() const {
  std::vector<std::string_view> texts;
  texts.reserve(rows_.size());
  for (const auto& [name, row] : rows_) texts.emplace_back(text_of(row));
  std::string document;
  append_array(document, "mutexes", texts);
  return document;
}

std::optional<std::string> Board::since(std::uint64_t revision) const {
  if (revision < oldest_ || revision > revision_) return std::nullopt;
  const auto is_older = [](const Event& event, std::uint64_t than) {
    return event.revision <= than;
  };
  const auto first = std::lower_bound(events_.begin(), events_.end(), revision, is_older);
  const auto count = static_cast<std::size_t>(std::distance(first, events_.end()));
  if (count > most_news) return std::nullopt;

  std::vector<std::string> written;  // reserved, so that views of its texts stay valid
  std::vector<std::string_view> changed;
  std::vector<std::string_view> leases;
  // No structured bindings here: clang-tidy 16 crashes on them beside an optional.
  for (const auto& entry : rows_) {
    if (entry.second.revision > revision) changed.emplace_back(text_of(entry.second));
  }
  written.reserve(rows_.size() + removed_.size() + count);
  for (const auto& entry : rows_) {
    const Row& row = entry.second;
    if (row.revision > revision || row.lease_revision <= revision) continue;
    const Json ends = row.ends ? Json(row.ends->time_since_epoch().count()) : Json(nullptr);
    leases.emplace_back(written.emplace_back(to_text(Json::array({row.id, ends, row.token}))));
  }
  std::vector<std::string_view> removed;
  for (const auto& entry : removed_) {
    if (entry.first > revision) {
      removed.emplace_back(written.emplace_back(std::to_string(entry.second)));
    }
  }
  std::vector<std::string_view> events;
  for (auto at = first; at != events_.end(); ++at) {
    events.emplace_back(written.emplace_back(to_text(object_of(*at))));
  }
  std::string document;
  append_array(document, "mutexes", changed);
  append_array(document, "leases", leases);
  append_array(document, "removed", removed);
  append_array(document, "changes", events);
  return document;
}

std::optional<Json> Board::mutex(std::string_view name) const {
  const auto at = rows_.find(name);
  if (at == rows_.end()) return std::nullopt;
  Json object = object_of(at->second);
  Json runs = Json::array();
  if (const auto& schedule = at->second.schedule) {
    for (const RunReport& run : schedule->runs) {
      Json one = to_json(at->first, run);
      one.erase("event");
      one.erase("mutex");
      runs.push_back(std::move(one));
    }
  }
  object["runs"] = std::move(runs);
  object["changes"] = changes(options_.history, name);
  return object;
}

Json Board::changes(std::size_t most, std::optional<std::string_view> mutex) const {
  std::vector<const Event*> found;
  for (auto at = events_.rbegin(); at != events_.rend() && found.size() < most; ++at) {
    if (!mutex || *at->mutex == *mutex) found.push_back(&*at);
  }
  Json all = Json::array();
  std::reverse(found.begin(), found.end());
  for (const Event* event : found) all.push_back(object_of(*event));
  return all;
}

Json Board::object_of(const Row& row) {
  const bool owned = !row.owner->empty();
  Json object{{"id", row.id}, {"mutex", *row.name}, {"owner", id_json(row.owner)}};
  const auto endpoint = endpoint_of(*row.owner);
  object["endpoint"] = endpoint ? Json(*endpoint) : Json(nullptr);
  object["token"] = row.token;
  object["since"] = owned ? Json(to_utc(row.since)) : Json(nullptr);
  object["owned_before"] = owned && row.owned_before;
  object["session"] = row.session;
  object["lease_ends"] = time_or_null(row.ends);
  object["lease_ms"] = row.ends ? Json(row.lease.count()) : Json(nullptr);
  object["waiting"] = nullptr;
  if (row.waiting) {
    object["waiting"] = Json::array();
    for (const auto& one : *row.waiting) {
      object["waiting"].push_back({{"id", one.contender_id}, {"since", to_utc(shown(one.since))}});
    }
  }
  object["last_change"] = {
      {"at", to_utc(row.changed)}, {"what", to_string(row.what)}, {"before", id_json(row.before)}};
  object["schedule"] = nullptr;
  if (row.schedule) {
    Json schedule = to_json(*row.name, *row.schedule);
    schedule.erase("event");
    schedule.erase("mutex");
    const auto& runs = row.schedule->runs;
    schedule["last_outcome"] = runs.empty() ? Json(nullptr) : Json(to_string(runs.back().outcome));
    object["schedule"] = std::move(schedule);
  }
  return object;
}

const std::string& Board::text_of(const Row& row) {
  if (row.text.empty()) row.text = to_text(object_of(row));
  return row.text;
}

Json Board::object_of(const Event& event) {
  return {{"at", to_utc(event.at)},
          {"id", event.id},
          {"mutex", *event.mutex},
          {"what", to_string(event.what)},
          {"before", id_json(event.before)},
          {"owner", id_json(event.owner)},
          {"token", event.token}};
}

}  // namespace simba::cli::serve
