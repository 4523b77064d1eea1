#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "simba/core/time.hpp"
#include "support/location.hpp"

namespace simba::support {

/// A process that contends for a mutex on Redis as the JVM library does: jvm_contender.py, which
/// tells what it says and when.
///
/// The constructor returns when it is connected. It throws std::runtime_error where that fails.
///
/// Threads: used by one thread at a time. The destructor ends the process.
class JvmContender {
 public:
  struct Settings {
    std::chrono::milliseconds ttl{10'000};
    std::chrono::milliseconds transition{6'000};
  };

  /// `location`: of one server, or of the node of a cluster that holds the mutex.
  JvmContender(const Location& location, const std::string& mutex, std::string contender_id,
               const Settings& settings);
  JvmContender(const Location& location, const std::string& mutex, std::string contender_id);
  ~JvmContender();
  JvmContender(const JvmContender&) = delete;
  JvmContender& operator=(const JvmContender&) = delete;

  const std::string& contender_id() const noexcept { return contender_id_; }

  void start() { order("start"); }
  void release() { order("release"); }
  void stop_renewing() { order("renew off"); }

  /// Waits at most `scaled(limit)` for a line that starts with `beginning`, among those that no
  /// call has passed yet, and passes it and all before it. Returns it; empty: there was none.
  std::string said(std::string_view beginning, std::chrono::milliseconds limit);

  /// The same with a limit far beyond every bound.
  std::string said(std::string_view beginning);

  /// All lines so far, for messages.
  std::string transcript();

  /// As by SIGKILL: it does nothing any more, and its connections end.
  void kill();

  /// Asks it to end in order and waits. Returns the exit code; 0: nothing was wrong.
  int quit();

 private:
  void order(std::string_view text);
  bool read(std::chrono::milliseconds span);
  void reap();

  const std::string contender_id_;
  pid_t process_ = -1;  // -1: has ended
  int exit_code_ = -1;
  int channel_ = -1;
  bool ended_ = false;              // nothing more will be said
  std::string pending_;             // the beginning of a line
  std::vector<std::string> lines_;  // all of them
  std::size_t passed_ = 0;          // how many of them a call has passed
};

/// The moment in "acquired <time>" and its like.
LocalTime moment_of(std::string_view line);

}  // namespace simba::support
