#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output/output.hpp"
#include "cli/output/times.hpp"
#include "simba/engine/store_admin.hpp"
#include "simba/schedule/run.hpp"

namespace simba::cli::serve {

/// What happened to a mutex, as far as two looks at the store, one after the other, can tell.
enum class Change {
  seen,         ///< nothing yet: it was like that at the first look
  acquired,     ///< it was free before
  released,     ///< before its lease was over, or its session has ended
  expired,      ///< its lease ran out, and nobody has acquired it yet
  handed_over,  ///< it was acquired by another owner before the lease of the last one was over
  taken_over,   ///< the same after it was over
  forced,       ///< it was released by force through this server
  removed,      ///< the store does not know it any more
};

/// E.g. "handed_over".
std::string_view to_string(Change change) noexcept;

/// All mutexes of a store when it was looked at.
struct Look {
  WallTime asked{};
  WallTime answered{};
  std::vector<engine::MutexEntry> entries{};
};

/// What is known of the mutexes of a store, who owned them when, and what has changed since a
/// revision: the model behind the page and the API of `simba serve`.
///
/// Every change gives the board a new revision. A reader that has seen revision r asks for what is
/// new `since` r, so the board keeps nothing for its readers. Times are those of this host, for
/// showing only. Has no clock, no thread and no I/O. Used by one thread.
class Board {
 public:
  struct Options {
    std::size_t history = 10'000;              ///< how many changes are remembered
    std::chrono::milliseconds usual_lease{0};  ///< shown until a longer one is seen
  };

  explicit Board(Options options) : options_{options} {}

  void looked(const Look& look);

  /// The mutex was taken from `owner` by force: if that is its owner, its next change is put down
  /// to that.
  void forced(const std::string& mutex, const std::string& owner) {
    forced_.insert_or_assign(mutex, owner);
  }

  /// What the store remembers of the schedule of a mutex.
  void reported(const std::string& mutex, const ScheduleReport& report);

  std::uint64_t revision() const noexcept { return revision_; }
  std::size_t size() const noexcept { return rows_.size(); }

  /// Since when every change is remembered.
  WallTime history_from() const noexcept { return history_from_; }

  /// The names in their order, from the first that is after `name`; `most` of them at most.
  std::vector<std::string> names_after(std::string_view name, std::size_t most) const;

  /// The names of those that have a schedule.
  const std::vector<std::string>& schedules() const noexcept { return schedules_; }

  /// The owner that was seen last; empty: free; nothing: the mutex is unknown.
  std::optional<std::string> owner_of(std::string_view mutex) const;

  // ---- documents: texts in JSON, without what encloses them -----------------------------------

  /// "mutexes":[...] of all.
  std::string all() const;

  /// "mutexes":[...],"leases":[[id,end,token],...],"removed":[id,...],"changes":[...] since
  /// `revision`; nothing: that is too long ago, or has never been.
  std::optional<std::string> since(std::uint64_t revision) const;

  /// One mutex as an object; nothing: it is unknown.
  std::optional<Json> mutex(std::string_view name) const;

  /// The last changes, oldest first, `most` at most, of one mutex or of all.
  Json changes(std::size_t most, std::optional<std::string_view> mutex = {}) const;

 private:
  using Text = std::shared_ptr<const std::string>;

  /// A line of the history.
  struct Event {
    std::uint64_t revision = 0;
    WallTime at{};
    std::uint64_t id = 0;
    Text mutex{};
    Text before{};
    Text owner{};
    FencingToken token = 0;
    Change what = Change::seen;
  };

  struct Row {
    std::uint64_t id = 0;
    Text name{};
    Text owner{};
    FencingToken token = 0;
    bool session = false;
    WallTime since{};                    ///< since when this owner is known to own it
    bool owned_before = false;           ///< it has owned it before that already
    std::optional<WallTime> ends{};      ///< when the lease is over
    std::chrono::milliseconds lease{0};  ///< its length
    std::optional<std::vector<engine::WaitingContender>> waiting{};
    std::optional<ScheduleReport> schedule{};
    WallTime changed{};
    Change what = Change::seen;
    Text before{};
    std::uint64_t revision = 0;        ///< of the last change, other than a renewal
    std::uint64_t lease_revision = 0;  ///< of the last renewal
    mutable std::string text{};        ///< as an object; empty: to be written
  };

  bool first_seen(Row& row, const engine::MutexEntry& entry, const Look& look);
  bool update(Row& row, const engine::MutexEntry& entry, const Look& look);
  bool renew(Row& row, const engine::MutexEntry& entry, const Look& look) const;
  Change judge(const Row& row, const engine::MutexEntry& entry, const Look& look);
  void note(const Row& row);
  void note_removed(const Row& row, WallTime at);
  static Json object_of(const Row& row);
  static const std::string& text_of(const Row& row);
  static Json object_of(const Event& event);

  const Options options_;
  std::map<std::string, Row, std::less<>> rows_{};
  std::vector<std::string> schedules_{};
  std::map<std::string, std::string> forced_{};  // from whom
  std::deque<Event> events_{};
  std::deque<std::pair<std::uint64_t, std::uint64_t>> removed_{};  // revision and id
  std::uint64_t revision_ = 0;
  std::uint64_t oldest_ = 0;  // what has changed since then is known
  std::uint64_t last_id_ = 0;
  WallTime history_from_{};
  bool has_looked_ = false;
};

}  // namespace simba::cli::serve
