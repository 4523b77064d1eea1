#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace simba::chaos {

/// One use of the resource.
struct FencedEntry {
  enum class Kind : std::uint64_t { read = 1, write = 2 };

  Kind kind = Kind::read;
  std::uint64_t token = 0;
  std::uint64_t value = 0;  ///< that is written; of a read nothing
  std::uint64_t who = 0;    ///< the process
};

/// What the entries come to, one after the other: the resource takes no entry whose token is
/// smaller than the greatest it has seen.
class FencedState {
 public:
  /// False: refused.
  bool apply(const FencedEntry& entry) noexcept;

  std::uint64_t value() const noexcept { return value_; }

  /// How many writes were taken and refused, and how many of those taken were not the value before
  /// plus one: each such has undone another's.
  std::uint64_t taken() const noexcept { return taken_; }
  std::uint64_t refused() const noexcept { return refused_; }
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  std::uint64_t highest_ = 0;
  std::uint64_t value_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t lost_ = 0;
};

/// A counter that processes share, which fencing tokens protect. It is a file that is only appended
/// to, one entry by one system call: no lock that a paused process could keep, nothing half done
/// when one is killed, and the file itself tells exactly what happened in which order.
///
/// Threads: an object is used by one thread at a time; each process has its own.
class FencedLog {
 public:
  /// Throws std::system_error.
  explicit FencedLog(const std::filesystem::path& file);
  ~FencedLog();
  FencedLog(const FencedLog&) = delete;
  FencedLog& operator=(const FencedLog&) = delete;

  /// The value; from then on smaller tokens are refused. Empty: the token is too small itself.
  std::optional<std::uint64_t> read(std::uint64_t token);

  /// Whether it was taken is seen by who reads the file: a smaller token is refused.
  void write(std::uint64_t token, std::uint64_t value);

 private:
  void append(const FencedEntry& entry);

  const std::uint64_t who_;
  int descriptor_ = -1;
  std::int64_t position_ = 0;  // what lies before it is in state_
  FencedState state_;
};

std::vector<FencedEntry> read_fenced_log(const std::filesystem::path& file);

}  // namespace simba::chaos
