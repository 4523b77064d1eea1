#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simba/core/error.hpp"
#include "simba/core/log.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/core/time.hpp"
#include "sql/workers/poll_wait.hpp"

/// What a database product must bring. Everything else of the SQL stores is shared.
namespace simba::sql {

/// A change of one mutex.
struct Ask {
  std::string mutex;
  std::string contender_id;
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds transition{0};

  /// Under which version a row that the contender owns is changed; empty: under any. A release:
  /// exactly this one. A renewal: this one or a smaller one. An acquisition: exactly this one,
  /// unless the lease is over.
  std::optional<FencingToken> version{};
};

enum class Change { acquire, guard, release };

/// A row of the table, with the database's clock in the same answer.
struct Row {
  std::string mutex;
  std::string owner_id;  ///< empty: free
  std::int64_t acquired_at = 0;
  std::int64_t ttl_at = 0;
  std::int64_t transition_at = 0;
  FencingToken version = 0;
  std::int64_t now = 0;  ///< not before the change that this answers

  /// An acquisition or a renewal found it owned by the contender itself, but under another version
  /// than it may be changed under.
  bool refused = false;

  /// Why an acquisition failed for this mutex, although not for those that went with it: there is
  /// nothing else to this row then but the name of the mutex.
  std::optional<Error> problem{};
};

/// A record to be written, on conditions.
struct RecordAsk {
  std::string mutex;
  std::string text;
  std::uint64_t replaces = 0;  ///< its version

  /// Who must own the mutex, under a version between these two.
  struct Owner {
    std::string contender_id;
    FencingToken least = 0;
    FencingToken greatest = 0;
  };
  std::optional<Owner> owner{};
  std::optional<SystemTime> not_before{};
};

struct FoundRecord {
  std::string mutex;
  MutexRecord record;
};

/// One connection. It throws `Error`, and nothing else, when something goes wrong: `timeout` where
/// the deadline passed, `in_doubt` where the connection broke after sending or the server was
/// stopped at work, so that something may have been changed, `unavailable` where the server has
/// refused and surely nothing was changed (deadlock, lock timeout, read-only, too many
/// connections), `permission`, `authentication`, `configuration`.
///
/// Deadlines are on the clock of `real_now()`. A raised wakeup of its database ends every wait at
/// once, with `unavailable`.
///
/// Threads: used by one thread at a time, not always the same.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  /// Carries out one kind of change for all asks, in one trip and one statement or transaction. The
  /// asks are for different mutexes, in the order of their names, and have the same ttl and
  /// transition. Each is atomic: granted or not by the database's clock alone. Answers with the
  /// rows as they are afterwards, in any order. `acquire` makes a row that is missing: one that is
  /// missing in its answer is in doubt. For the others there is no such row then.
  virtual std::vector<Row> change(Change change, std::span<const Ask> asks, LocalTime deadline) = 0;

  /// The rows of these mutexes, in any order; one that does not exist is left out.
  virtual std::vector<Row> look(std::span<const std::string> mutexes, LocalTime deadline) = 0;

  /// Makes a free row; tells whether there was none.
  virtual bool init(const std::string& mutex, LocalTime deadline) = 0;

  /// The record of each of these mutexes, in any order; an empty one where there is none.
  virtual std::vector<FoundRecord> read_records(std::span<const std::string> mutexes,
                                                LocalTime deadline) = 0;

  /// As `MutexRecords::write`, by the database's clocks alone: that of the leases for the owner,
  /// the wall clock for the time.
  virtual RecordAnswer write_record(const RecordAsk& ask, LocalTime deadline) = 0;

  /// False once the connection is broken, even if that was noticed only now and while idle. A
  /// session that is not usable is thrown away.
  virtual bool usable() noexcept = 0;
};

/// What may have changed.
struct Hint {
  bool all = false;                    ///< anything
  std::vector<std::string> mutexes{};  ///< these
};

/// Where a product's hints of changes come from. A hint that gets lost costs a poll interval.
///
/// Threads: used by one thread, which is the only one to wait here.
class ChangeFeed {
 public:
  ChangeFeed() = default;
  ChangeFeed(const ChangeFeed&) = delete;
  ChangeFeed& operator=(const ChangeFeed&) = delete;
  virtual ~ChangeFeed() = default;

  /// Waits for a hint until `until`, or until `wakeup` is raised (the caller clears it).
  /// `waited_for` are the mutexes of interest, those that came first in front. Does not throw: what
  /// goes wrong is logged once and tried again later. After an interruption in which hints may have
  /// been lost it hints at everything.
  virtual Hint wait(const std::vector<std::string>& waited_for, LocalTime until,
                    const Wakeup& wakeup) noexcept = 0;
};

/// No hints: the look at each poll interval notices what changed.
class SilentFeed final : public ChangeFeed {
 public:
  Hint wait(const std::vector<std::string>& /*waited_for*/, LocalTime until,
            const Wakeup& wakeup) noexcept override {
    wait_for(wakeup, until);
    return {};
  }
};

/// Makes connections to one database.
///
/// Threads: every function may be called from any thread at the same time.
class Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  virtual ~Database() = default;

  /// For messages: the product and where it is, without a password, e.g. "PostgreSQL at db:5432".
  virtual std::string_view name() const noexcept = 0;

  /// Connects, and makes the table where it is missing and may be made. Throws `Error`. `closing`
  /// outlives the session.
  virtual std::unique_ptr<Session> connect(LocalTime deadline, const Wakeup& closing) = 0;

  /// Called at the first watch.
  virtual std::unique_ptr<ChangeFeed> make_feed() = 0;
};

}  // namespace simba::sql
