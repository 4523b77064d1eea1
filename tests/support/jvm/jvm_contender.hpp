#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "simba/core/time.hpp"
#include "support/location.hpp"
#include "support/processes/talking_process.hpp"

namespace simba::support {

/// A process that contends for a mutex on Redis as the JVM library does: jvm_contender.py, which
/// tells what it says and when.
///
/// The constructor returns when it is connected. It throws std::runtime_error where that fails.
///
/// Threads: used by one thread at a time. The destructor kills the process.
class JvmContender {
 public:
  struct Settings {
    std::chrono::milliseconds ttl{10'000};
    std::chrono::milliseconds transition{6'000};
  };

  /// `location`: of one server, or of a node of a cluster, whose referrals it follows.
  JvmContender(const Location& location, const std::string& mutex, std::string contender_id,
               const Settings& settings);
  JvmContender(const Location& location, const std::string& mutex, std::string contender_id);

  const std::string& contender_id() const noexcept { return contender_id_; }

  void start() { process_.order("start"); }
  void release() { process_.order("release"); }
  void stop_renewing() { process_.order("renew off"); }

  /// See TalkingProcess.
  std::string said(std::string_view beginning, std::chrono::milliseconds limit) {
    return process_.said(beginning, limit);
  }
  std::string said(std::string_view beginning) { return process_.said(beginning); }
  std::string transcript() { return process_.transcript(); }
  void kill() { process_.kill(); }
  int quit() { return process_.quit(); }

 private:
  const std::string contender_id_;
  TalkingProcess process_;
};

/// The moment in "acquired <time>" and its like.
LocalTime moment_of(std::string_view line);

}  // namespace simba::support
