#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/types.h>
#include <thread>
#include <type_traits>

#include "simba/core/time.hpp"
#include "support/mapped_file.hpp"

namespace simba::soak {

/// What all processes write down of their ownerships, in a file that they share in memory: the
/// resource that the mutexes protect. All times are of CLOCK_BOOTTIME, which is the same for all.
///
/// Nobody may begin to own a mutex before the one before has left it, or could not believe to own
/// it any more. One that was killed has not left it: of that one counts until when it believed when
/// it began. Tokens grow with every ownership. A counter that is read, and then written, by owners
/// only loses no update, but for those in the middle of which a process was killed.
///
/// Threads: every function may be called from any thread of any process, which may be killed at
/// any moment.
class Ledger {
 public:
  /// Makes the file, for this many mutexes.
  Ledger(const std::filesystem::path& file, std::size_t mutexes);

  /// Opens it.
  explicit Ledger(const std::filesystem::path& file);

  struct Entry {
    FencingToken token = 0;
    LocalTime until{};  ///< the owner believes in its ownership until then
    LocalTime now{};    ///< it has begun by then
    pid_t process = 0;
  };

  /// An ownership begins, at `now`: the calling thread may stand still since. `meanwhile` is called
  /// in the middle of the update. False: a later ownership has been entered before, so that there
  /// is nothing to leave.
  bool enter(std::size_t mutex, const Entry& entry,
             const std::function<void()>& meanwhile = std::this_thread::yield);

  /// It lasted until `until` at least; the store has not been told yet, unless it has been lost.
  void leave(std::size_t mutex, FencingToken token, LocalTime until);

  /// An ownership ended without its owner's wish.
  void lost();

  std::uint64_t ownerships() const noexcept;
  std::uint64_t losses() const noexcept;

  /// How many mutexes have had an owner.
  std::size_t owned_once() const noexcept;

  /// What must not be, a line each; empty: nothing. To be asked when all processes have ended.
  std::string faults() const;

 private:
  struct Header {
    std::atomic<std::uint64_t> mutexes;
    std::atomic<std::uint64_t> losses;
    std::atomic<std::uint64_t> overlaps;
    std::atomic<std::uint64_t> falls;  // of tokens
    // Of one of these, for the message.
    std::atomic<std::uint64_t> mutex;
    std::atomic<std::int64_t> early;  // ns
    std::atomic<std::uint64_t> before;
    std::atomic<std::uint64_t> after;
  };
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> token;      // the greatest
    std::atomic<std::uint64_t> holder;     // its token; 0: nobody
    std::atomic<std::int64_t> until;       // of the holder, when it began
    std::atomic<std::int64_t> began;       // the latest begin of an ownership
    std::atomic<std::uint64_t> entered;    // ownerships
    std::atomic<std::uint64_t> counter;    // the same, if owners exclude each other
    std::atomic<std::int64_t> updating;    // the process that is in the middle of it; 0: none
    std::atomic<std::uint64_t> cut_short;  // updates, by the death of their process
  };
  static_assert(std::is_standard_layout_v<Header> && std::is_standard_layout_v<Slot>);
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  void overlap(std::size_t mutex, std::int64_t length) const noexcept;
  static std::size_t size_for(std::size_t mutexes) noexcept;
  Header& header() const noexcept;
  Slot& slot(std::size_t mutex) const noexcept;
  std::size_t mutexes() const noexcept { return header().mutexes; }

  const support::MappedFile file_;  // new bytes are zero, the beginning of everything here
};

}  // namespace simba::soak
