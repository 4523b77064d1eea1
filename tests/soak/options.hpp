#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace simba::soak {

/// What the command line says, and what follows from it.
struct Options {
  std::string store{};  ///< "redis", "mariadb" or a URL
  std::size_t mutexes = 2'000;
  std::size_t processes = 20;
  std::chrono::seconds seconds{600};
  std::uint64_t seed = 1;
  std::filesystem::path report{};  ///< empty: none
  bool help = false;

  // Of a worker; the driver fills them in.
  std::optional<std::size_t> worker{};  ///< its place among the processes; empty: the driver
  std::uint64_t life = 0;               ///< how many had this place before
  std::filesystem::path ledger{};

  /// How many processes contend for each mutex.
  std::size_t contenders() const noexcept;

  /// How many processes are never killed or stopped before the end: those that flatness is judged
  /// by.
  std::size_t core() const noexcept;

  /// Longer where tests are slow.
  std::chrono::milliseconds ttl() const noexcept;
  std::chrono::milliseconds transition() const noexcept;

  /// Until when workers are killed, from the beginning. What they owned is free again by `end()`.
  std::chrono::milliseconds kills_end() const noexcept;

  /// When all workers are told to stop: `seconds`, or more where these are short for the lease.
  std::chrono::milliseconds end() const noexcept;

  /// Within which nothing is held any more, once all workers have stopped. Much shorter than what
  /// is left of any lease then, so that only a release explains it.
  std::chrono::milliseconds release_bound() const noexcept;

  /// From one time that a contender begins to contend to the next, on the average: so long that all
  /// of them together make about `target_rate()` ownerships a second.
  std::chrono::milliseconds cycle() const noexcept;
  std::chrono::milliseconds longest_hold() const noexcept;
  double target_rate() const noexcept;

  /// Within which all contenders of a worker have begun for the first time.
  std::chrono::milliseconds first_beginnings() const noexcept;

  /// Whether it lasts long enough to judge by thirds.
  bool judges_flatness() const noexcept;
};

inline constexpr const char* usage =
    "usage: simba-soak --store redis|mariadb|URL [--mutexes 2000] [--processes 20] [--seconds 600] "
    "[--seed N] [--report FILE]\n"
    "exit code: 0 good, 1 bad, 2 wrong usage or trouble, 77 no such server is installed, 130 "
    "interrupted\n";

/// Throws std::invalid_argument.
Options parse_options(const std::vector<std::string>& words);

/// The words that make `options` again, for a worker.
std::vector<std::string> words_of(const Options& options);

/// "soak-0", "soak-1" ...
std::string mutex_name(std::size_t number);

}  // namespace simba::soak
