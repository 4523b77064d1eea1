#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "simba/core/error.hpp"
#include "sql/database.hpp"

namespace simba::sql {

template <class T>
using Result = std::variant<T, Error>;

using MutexNames = std::shared_ptr<const std::vector<std::string>>;

/// Empty: the mutex has no row.
using RowHandler = std::function<void(Result<std::optional<Row>>)>;
using RowsHandler = std::function<void(Result<std::vector<Row>>)>;
using InitHandler = std::function<void(Result<bool>)>;

/// Something to be asked of the database.
struct Request {
  enum class Kind { acquire, guard, release, look, look_at_many, init, read_record, write_record };

  /// The same handling and the same statement as `other`.
  bool goes_with(const Request& other) const noexcept;

  Kind kind = Kind::look;
  Ask ask{};                                  // of init, look and records only the mutex
  MutexNames names{};                         // of look_at_many
  std::shared_ptr<const RecordAsk> record{};  // of write_record
  LocalTime not_after = never;                // not begun any more after this moment
  std::variant<RowHandler, RowsHandler, InitHandler, RecordHandler> handler{};
};

/// Whether a request of this kind is for a record.
bool is_of_record(Request::Kind kind) noexcept;

/// The change that a request of this kind asks for; empty: none.
std::optional<Change> change_of(Request::Kind kind) noexcept;

/// Requests that go out together: of one kind, for different mutexes, in the order of their names.
struct Batch {
  std::vector<Request> requests{};
  bool was_stuck = false;  // it is for a mutex that got stuck alone
};

/// Decides what goes out next, and what together. A value without threads, clock or I/O.
class RequestQueue {
 public:
  explicit RequestQueue(std::size_t connections) : connections_{connections} {}

  void push(Request request) { waiting_.push_back(std::move(request)); }

  /// The next batch. Empty where all that waits must wait for something under way. Each batch is
  /// given back by `done`.
  Batch take();

  /// `failed`: an error that concerns what was asked, not the connection. In a batch nobody knows
  /// whose fault it was, so each of its mutexes goes alone from now on, until a change got through.
  /// One that fails alone, and slowly (`stuck`), leaves a connection to the others as well.
  enum class Outcome { answered, undecided, failed, stuck };
  void done(const Batch& batch, Outcome outcome);

  /// Reads of records wait, nothing else, and fewer than can go together.
  bool may_gather_reads() const;

  /// Those that were not begun in time.
  std::vector<Request> take_overdue(LocalTime now);

  std::vector<Request> take_all();

  bool empty() const noexcept { return waiting_.empty(); }

  static constexpr std::size_t most_together = 200;
  static constexpr std::size_t most_reads_together = 2000;  // of records

 private:
  /// Mutex and contender, or the record of a mutex.
  using Key = std::tuple<std::string, std::string, bool>;

  static Key key_of(const Request& request);
  static bool is_alone(const Request& request) noexcept;
  bool may_begin(const Request& request) const;
  void begin(const Batch& batch);

  const std::size_t connections_;
  std::deque<Request> waiting_;
  std::set<Key> under_way_;
  std::unordered_set<std::string> alone_;  // mutexes of batches that failed
  std::unordered_set<std::string> stuck_;  // mutexes that got stuck alone; all are in alone_ too
  std::size_t stuck_under_way_ = 0;
};

}  // namespace simba::sql
