#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace simba::chaos {

/// What a worker says of one run of a slot.
struct SlotEntry {
  enum class Kind {
    begins,  ///< the work has begun
    lasts,   ///< at `at` nobody else could lead yet, as far as the worker's own clock tells
    ends,    ///< well
    fails,   ///< it will throw, or was told to stop
  };

  Kind kind = Kind::begins;
  std::int64_t slot = 0;  ///< its time, in milliseconds since 1970
  std::uint64_t number = 0;
  int attempt = 1;
  std::uint64_t token = 0;
  std::string who{};      ///< the contender
  std::int64_t at = 0;    ///< nanoseconds of CLOCK_MONOTONIC
  std::int64_t wall = 0;  ///< the clock that slots of this store follow, in milliseconds since 1970
};

/// The runs of one schedule, of all processes, in the order in which they happened: a file that is
/// only appended to, one line by one system call. Where that fails the process ends with
/// exit_unrecorded.
///
/// Threads: may be used from several.
class SlotLog {
 public:
  /// Throws std::system_error.
  explicit SlotLog(const std::filesystem::path& file);
  ~SlotLog();
  SlotLog(const SlotLog&) = delete;
  SlotLog& operator=(const SlotLog&) = delete;

  void write(const SlotEntry& entry) const noexcept;

 private:
  int descriptor_ = -1;
};

/// Throws std::runtime_error where a line is none; the last one may be half written.
std::vector<SlotEntry> parse_slot_log(const std::string& text);

/// The same of a file; nothing if there is none.
std::vector<SlotEntry> read_slot_log(const std::filesystem::path& file);

}  // namespace simba::chaos
