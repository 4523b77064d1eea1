#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace simba::chaos {

/// A time during which a contender was owner for certain, by its own account: a moment at which it
/// was seen to own has passed at `begin`, and none of the later ones was before `end`.
struct Ownership {
  std::string who{};  ///< the contender; another one after each start of its process
  int lane = 0;       ///< the place of its process among the contenders
  std::uint64_t token = 0;
  std::int64_t begin = 0;  ///< nanoseconds of CLOCK_MONOTONIC
  std::int64_t end = 0;

  /// It is one of the JVM library. Such a contender counts no time, so that its own account proves
  /// nothing: from `begin` to `end` the server had surely granted it the mutex. It has no token;
  /// `token` is a number within its process.
  bool jvm = false;
  std::int64_t believed = 0;  ///< its own account: it considered itself the owner until then
};

/// From `begin` to `end`, both within it.
struct Period {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// A call of `on_acquired` or `on_released`; or that `start()` will be called, that `stop()` has
/// returned, or that `on_released` was still running while the lease of its ownership lasted.
struct Callback {
  enum class Kind { acquired, released, starting, stopped, releasing };

  Kind kind = Kind::acquired;
  std::uint64_t token = 0;  ///< of the callbacks
  std::int64_t at = 0;
};

/// The exit code of a process whose record cannot be written.
inline constexpr int exit_unrecorded = 74;

/// What one contender's process has written down.
struct Record {
  std::string who{};
  int lane = 0;
  std::vector<Ownership> ownerships{};
  std::vector<Callback> callbacks{};
  std::vector<std::string> complaints{};  ///< what the process itself found wrong
  std::vector<Period> locks{};  ///< one of the JVM library kept the row of a mutex locked for long
};

/// Writes the record of this process: one line an event, at once, by one system call, so that it
/// stays when the process is killed. Where that fails the process ends with exit_unrecorded.
///
/// Threads: may be used from several; lines never mix.
class RecordWriter {
 public:
  /// Throws std::system_error.
  explicit RecordWriter(const std::filesystem::path& file);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  void callback(Callback::Kind kind, std::uint64_t token, std::int64_t at);

  /// The first moment of an ownership, and later ones.
  void begins(std::uint64_t token, std::int64_t at);
  void lasts(std::uint64_t token, std::int64_t at);

  void complain(const std::string& what);

 private:
  void write(const std::string& line) const noexcept;

  int descriptor_ = -1;
};

/// The lines of a record. Contenders of the JVM library write these:
///
///   granted <number> <begin> <end>   the server has granted or renewed this ownership: it is
///   surely
///                                    its from `begin`, when the answer was there, to `end`, when
///                                    the lease is over that counts from before the request; one
///                                    that begins after the end of the one before is another
///                                    ownership, although the contender took it for a renewal
///   yields <number> <at>             it will give it back
///   believes <number> <at>           it considered itself the owner at that moment
///   locks <begin> <end>              a transaction of its was open for so long
///
/// The last one may be half written. Throws std::runtime_error where another
/// is none.
Record parse_record(const std::string& text, std::string who, int lane);

/// The same of a file.
Record read_record(const std::filesystem::path& file, std::string who, int lane);

}  // namespace simba::chaos
