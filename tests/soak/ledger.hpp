#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>

#include "simba/core/time.hpp"

namespace simba::soak {

/// What all processes write down of their ownerships, in a file that they share in memory: the
/// resource that the mutexes protect. All times are of CLOCK_BOOTTIME, which is the same for all.
///
/// Nobody may begin to own a mutex before the one before has left it, or before the end of what
/// that one could believe to own when it began, whether it still lives or not. Tokens grow with
/// every ownership. A counter that is read, and then written, by owners only loses no update.
///
/// Threads: every function may be called from any thread of any process, which may be killed at
/// any moment.
class Ledger {
 public:
  /// Makes the file, for this many mutexes.
  Ledger(const std::filesystem::path& file, std::size_t mutexes);

  /// Opens it.
  explicit Ledger(const std::filesystem::path& file);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// An ownership begins, which its owner believes in until `until`.
  void enter(std::size_t mutex, FencingToken token, LocalTime until, LocalTime now);

  /// It is over; the store has not been told yet, unless it has been lost.
  void leave(std::size_t mutex, LocalTime until);

  /// An ownership ended without its owner's wish.
  void lost();

  std::uint64_t ownerships() const noexcept;
  std::uint64_t losses() const noexcept;

  /// How many mutexes have had an owner.
  std::size_t owned_once() const noexcept;

  /// What must not be, a line each; empty: nothing. `interrupted`: how many updates may be missing,
  /// because who made them was killed.
  std::string faults(std::uint64_t interrupted) const;

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
    std::atomic<std::uint64_t> token;    // the greatest
    std::atomic<std::int64_t> until;     // 0: nobody
    std::atomic<std::uint64_t> entered;  // ownerships
    std::atomic<std::uint64_t> counter;  // the same, if owners exclude each other
  };
  static_assert(std::is_standard_layout_v<Header> && std::is_standard_layout_v<Slot>);
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  void map(const std::filesystem::path& file, int flags, std::size_t mutexes);
  static std::size_t size_for(std::size_t mutexes) noexcept;
  Header& header() const noexcept;
  Slot& slot(std::size_t mutex) const noexcept;
  std::size_t mutexes() const noexcept { return header().mutexes; }

  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace simba::soak
