#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "simba/core/error.hpp"
#include "simba/core/time.hpp"

namespace simba {

/// A time on a wall clock, as calendars count it: it may be set, forwards and backwards.
using SystemTime = std::chrono::sys_time<std::chrono::milliseconds>;

/// A text that is kept beside a mutex and outlives its owners.
struct MutexRecord {
  std::string text{};         ///< empty: none has been written
  std::uint64_t version = 0;  ///< grows by one with each write; 0: none has been written

  /// The wall clock when the store answered: the server's if it has one that the store can ask,
  /// else this host's.
  SystemTime now{};
};

/// Who must own the mutex for a record to be written.
struct RecordOwner {
  std::string contender_id;
  FencingToken fencing_token = 0;
};

/// A record to be written. Valid only during the call it is passed to.
struct RecordWrite {
  std::string mutex;
  std::string text;            ///< at most `MutexRecords::most_bytes` of valid UTF-8 without NUL
  std::uint64_t replaces = 0;  ///< the version it expects to replace
  std::optional<RecordOwner> owner{};      ///< not set: anybody may write
  std::optional<SystemTime> not_before{};  ///< by the clock of `MutexRecord::now`
};

/// What came of a write, with the record as it is afterwards.
struct RecordAnswer {
  enum class Outcome {
    found,      ///< of a read
    written,    ///< the record is the one that was to be written
    changed,    ///< not written: it has another version
    not_owned,  ///< not written: the mutex is not owned as `RecordWrite::owner` says
    too_early,  ///< not written: it is not yet `RecordWrite::not_before`
  };
  Outcome outcome = Outcome::found;
  MutexRecord record{};
};

/// An answer, or an error. After an error of kind `in_doubt` or `timeout` the write may have
/// happened; after any other it has not.
using RecordResult = std::variant<RecordAnswer, Error>;
using RecordHandler = std::function<void(RecordResult)>;

/// The records of mutexes: one each, written by compare-and-set. Other clients of the store, such
/// as those of the JVM library, do not see them.
///
/// Each request is answered exactly once by calling its handler, inside the call or later, on any
/// thread, even if the store is unreachable or is being destroyed. No request blocks.
///
/// A write is one atomic operation. With an owner it is carried out only if, by the store's own
/// clock and at that moment, the contender owns the mutex, its lease has not expired, and its
/// fencing token is the one given, or one that grew out of it: by a further grant to the owner, or,
/// on a store whose tokens grow with renewals, by one that the contender has made through the same
/// store object. Nobody else can have acquired the mutex then; whether the owner may still act is
/// for its local lease to say. If several conditions fail, `not_owned` takes precedence over
/// `changed`, and that over `too_early`.
///
/// A name that the store does not accept, a text that is too large, and one that is not valid UTF-8
/// or contains NUL are answered with an error of kind `invalid_argument`.
///
/// Threads: every function may be called concurrently from any thread. Handlers are called with no
/// lock held.
class MutexRecords {
 public:
  static constexpr std::size_t most_bytes = std::size_t{32} * 1024;

  virtual ~MutexRecords() = default;

  virtual void read(const std::string& mutex, RecordHandler handler) = 0;
  virtual void write(const RecordWrite& write, RecordHandler handler) = 0;
};

}  // namespace simba
